// Small files of every format, with much of what a format has: what damaged files are made from. Each is
// read.
#pragma once

#include <string>

namespace karakuri::test {

inline const char* const kUrdf = R"(<?xml version="1.0"?>
<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><inertial><origin xyz="0 0 1" rpy="1 2 3"/><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><geometry><box size="1 2 3"/></geometry><material name="red"/></visual><collision><geometry><cylinder radius="1" length="2"/></geometry></collision></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial><collision><geometry><sphere radius="1"/></geometry></collision></link>
<link name="hand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<joint name="j" type="revolute"><origin xyz="0 0 1"/><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="3" velocity="4"/><dynamics damping="1" friction="2"/></joint>
<joint name="k" type="prismatic"><parent link="arm"/><child link="hand"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="3" velocity="4"/><mimic joint="j" multiplier="2" offset="1"/></joint>
<transmission name="t"><type>x</type><joint name="j"/><actuator name="m"><mechanicalReduction>5</mechanicalReduction></actuator></transmission>
<sensor name="s" update_rate="20"><parent link="arm"/><origin xyz="0 0 1"/></sensor><gazebo reference="arm"><mu1>0.3</mu1></gazebo></robot>)";

inline const char* const kMjcf =
    R"(<mujoco model="m"><compiler angle="radian" eulerseq="xyz" autolimits="true"/><option timestep="0.002" gravity="0 0 -9" density="1.2" viscosity=".1" wind="1 0 0"><flag contact="enable"/></option>
<default><geom density="900"/><default class="a"><joint axis="1 0 0" range="-1 1" solreflimit=".05 1" solimplimit=".8 .9 .01"/><position kp="3"/></default></default>
<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 1" face="0 2 1 0 1 3 0 3 2 1 2 4 1 4 3 2 3 4" scale="1 1 1"/><hfield name="h" nrow="2" ncol="3" size="1 1 1 1" elevation="0 1 2 3 4 5"/><material name="x" rgba="1 0 0 1"/></asset>
<worldbody><geom name="floor" type="plane" size="0 0 1"/><geom type="hfield" hfield="h"/><frame pos="0 0 1"><body name="b" euler="0 0 1"><freejoint/><geom name="g" type="box" size=".1 .2 .3" friction="1 .1 .1" condim="4" material="x"/>
<site name="s" pos="1 0 0"/><body name="c" pos="0 0 1" childclass="a" gravcomp=".5"><joint name="j" margin=".1"/><joint name="k" axis="0 1 0" ref="0.3" springdamper=".2 1"/><geom name="n" type="mesh" mesh="m" contype="2"/>
<body name="d" quat="1 0 0 1"><site name="o"/><joint name="l" type="ball"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/></body></body></body></frame><body name="lead" mocap="true"><site name="q"/><geom size=".1"/></body>
<replicate count="3" offset="1 0 0" euler="0 0 .5" sep="_"><body name="r"><joint name="rj"/><geom size=".1"/><replicate count="2" offset="0 0 1"><site name="rs"/></replicate></body></replicate></worldbody>
<contact><exclude body1="b" body2="d"/><pair geom1="floor" geom2="n" friction="1 1 .1 .1 .1"/></contact><equality><connect body1="d" body2="b" anchor="0 0 1" solref="-900 -30"/><weld body1="c" body2="world" solimp=".5 .9 .01 .5 2"/><joint joint1="j" joint2="k" polycoef="0 1 0 0 0" solref=".1 1"/><tendon tendon1="t" tendon2="tt" polycoef="0 2 0 0 0" solref=".1 1"/></equality>
<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed><fixed name="tt"><joint joint="k" coef="1"/></fixed><spatial name="w" stiffness="2" damping="1" springlength=".1 .3"><site site="s"/><site site="o"/><pulley divisor="2"/><site site="q"/><site site="s"/><site site="o"/></spatial><spatial name="u" stiffness="3" damping="1" range="0 2" springlength=".1 .2" solreflimit=".1 1"><site site="s"/><site site="o"/></spatial></tendon><actuator><position name="p" joint="j" class="a" ctrlrange="-1 1"/><motor tendon="t" gear="2"/><general joint="k" gainprm="1" biasprm="0 -1 -1" biastype="affine"/><damper joint="k" kv="2" ctrlrange="0 1"/><motor site="s" gear="0 0 1 0 0 .1"/><motor tendon="w" gear="-1"/><motor joint="rj"/><position joint="j" kp="3" dampratio="1" timeconst=".1"/><general joint="k" dyntype="filterexact" dynprm=".1" actrange="-1 1"/><intvelocity joint="k" kp="2" actrange="-1 1"/><cylinder joint="j" timeconst=".1" diameter=".2" bias="1 2 3"/></actuator>
<sensor><gyro site="s"/><jointpos joint="j"/><framepos objtype="body" objname="c"/><jointvel joint="rj"/></sensor><keyframe><key name="home" qpos="0 0 1 1 0 0 0 0 0 1 0 0 0 0 0 0" ctrl="0 0 0 0 0 0 0 0 0 0 0 0 0" act="1 2 3 4" mpos="0 0 1" mquat="1 0 0 0"/></keyframe></mujoco>)";

inline const char* const kSdf =
    R"(<?xml version="1.0"?><sdf version="1.9"><model name="m"><link name="a"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>
<collision name="c"><geometry><box><size>1 2 3</size></box></geometry><surface><bounce><restitution_coefficient>.5</restitution_coefficient></bounce></surface></collision></link><link name="g"><collision name="h"><geometry><heightmap><uri>hills.png</uri><size>4 2 10</size></heightmap></geometry></collision></link><joint name="w" type="fixed"><parent>world</parent><child>g</child></joint><link name="b"><visual name="v"><geometry><sphere><radius>1</radius></sphere></geometry></visual><sensor name="s" type="imu"><imu/></sensor><sensor name="t" type="camera"><camera><horizontal_fov>1</horizontal_fov><image><width>8</width><height>6</height></image><clip><near>.1</near><far>9</far></clip></camera></sensor><sensor name="u" type="altimeter"/><sensor name="w" type="navsat"/></link>
<frame name="f" attached_to="b"/><joint name="j" type="revolute"><parent>a</parent><child>f</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint></model></sdf>)";

inline const char* const kGltf =
    R"({"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{"POSITION":1},"indices":0}]}],
"buffers":[{"uri":"data:application/octet-stream;base64,AAABAAIAAAAAAAAAAAAAAAAAAAAAAIA/AAAAAAAAAAAAAAAAAACAPwAAAAA=","byteLength":44}],
"bufferViews":[{"buffer":0,"byteOffset":0,"byteLength":6,"target":34963},{"buffer":0,"byteOffset":8,"byteLength":36,"target":34962}],
"accessors":[{"bufferView":0,"byteOffset":0,"componentType":5123,"count":3,"type":"SCALAR","max":[2],"min":[0]},{"bufferView":1,"byteOffset":0,"componentType":5126,"count":3,"type":"VEC3","max":[1.0,1.0,0.0],"min":[0.0,0.0,0.0]}]})";

inline const char* const kNative = R"(name: s
gravity: [0, 0, -9]
settings: {dt: 0.001, solver: block, sleep: {speed: 0.1}}
materials: [{name: ice, friction: 0.1}, {name: tin, restitution: 0.5}]
pairs: [{between: [ice, tin], friction: 0.2}]
ground: {material: ice, height: 0.1}
world: {shapes: {heightfield: {size: [1, 1], columns: 2, rows: 2, heights: [0, 1, 2, 3]}}}
bodies:
  - &a {name: a, at: [0, 0, 1], rpy_deg: [1, 2, 3], mass: 2, shapes: [{box: [1, 2, 3], material: tin}, {sphere: 1}]}
  - {<<: *a, name: b, parent: a, joint: {kind: revolute, axis: [0, 1, 0], limits: [-1, 1], limit_stiffness: 9, limit_damping: 1, damping: 1, q: 0.5, break_force: 3}}
  - {name: c, parent: b, joint: {kind: universal, dofs: [{stiffness: 1}, {rest: 2}]}, shapes: {capsule: {radius: 0.1, length: 1}}}
  - {name: d, repeat: [{count: 2, offset: [0, 0, 1]}, {count: 3, shrink: 1, offset: [1, 0, 0]}], shapes: {compound: [{cone: {radius: 1, height: 1}}, {ellipsoid: [1, 2, 3], quat: [1, 2, 3, 4]}]}}
  - {name: e, joint: spherical, shapes: {hull: {points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}}, repeat: {count: 3, chain: true, offset: [0, 0, 2]}}
joints: [{name: f, parent: world, child: d_0_0, kind: planar}]
loops: [{name: g, parent: c, child: a, kind: fixed, in_parent: {at: [1, 2, 3]}, open: true}, {name: h, parent: c, child: a, kind: spherical, closing_stiffness: 10, closing_damping: 1}, {name: i, kind: distance, parent: world, child: c, range: [0.1, 2]}]
no_contact: [{between: [a, c]}]
initial: [{joint: c, q: [1, 2], v: [3, 4]}]
frames: [{name: tip, link: c, at: [1, 2, 3]}]
sensors: [{name: s, kind: gyro, link: a, noise: 0.1}]
actuators: [{name: m, joints: [{joint: b, gear: 2}], control: [-1, 1], dynamics: filter, time_constant: 0.1, activation: [-1, 1]}, {name: n, thrust: {link: a, at: [1, 0, 0], rpy: [1, 2, 3], force: [0, 0, 1], moment: [0, 1, 0]}, dynamics: exact-filter}, {name: o, cable: [{from: a, from_point: [1, 0, 0], to: b, share: 0.5}, {from: b}]}]
keyframes: [{name: k, joints: [{joint: b, q: 1}], control: [1, 2, 3], activation: [0.5, 1, 0]}]
cables: [{name: c, path: [{from: a, to: c, to_point: [0, 0, 1]}], stiffness: 2, damping: 1, rest: [0.1, 0.5]}]
lifts: [{link: b, share: 0.5}]
fluid: {density: 1.2, viscosity: 0.1, wind: [1, 2, 3]}
kinematic: [d_0_1]
couplings: [{follower: b, leader: f_0_0, stiffness: 5, damping: 1}]
tendons: [{name: t, joints: [{joint: b, gear: 2}], range: [-1, 1], limit_stiffness: 3}]
controllers: [{joints: "*", target: 1, stiffness: 2}]
events: [{time: 1, force: {link: a, force: [1, 2, 3]}}, {time: 2, attach: {name: h, parent: a, child: c}}, {time: 3, detach: h}, {time: 4, set: {settings.dt: 1, joint.b.target: 3}}]
plots: [{signals: [time, link.a.px, joint.c.q.1]}]
ui: [{slider: {name: x, key: gravity.z, min: 0, max: 2, value: 1}}, {button: {name: y, do: {detach: b}}}, {text: {text: "{time}"}}]
view: {from: [1, 2, 3]}
look: {sky: "#112233"}
)";

inline const char* const kObj =
    "mtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nvn 0 0 1\nusemtl a\nf 1 2 3\nf 1//1 2//1 4//1\nf -1 "
    "-2 -3 -4\n";

inline const char* const kStlText =
    "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 "
    "0\nendloop\nendfacet\nendsolid a\n";

/// Two triangles.
inline std::string stl_binary() {
  std::string seed(84 + 2 * 50, '\0');
  seed[80] = 2;
  for (std::size_t i = 84; i < seed.size(); ++i) seed[i] = static_cast<char>(i * 37 % 64);
  return seed;
}

inline const char* const kCollada =
    R"(<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit name="u" meter="1"/><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh><source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array><technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles></mesh></geometry></library_geometries><library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>)";

}  // namespace karakuri::test
