// Scenes of a few lines, each with something of what a format has. From these most inputs are made: they are
// read several times as fast as those that have everything, and a change hits what matters more often.
#pragma once

namespace karakuri::fuzz {

inline constexpr const char* kSmallUrdf[] = {
    R"(<robot name="r"><link name="a"/></robot>)",
    R"(<robot name="r"><link name="a"><inertial><origin xyz="0 0 1" rpy="1 2 3"/><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></robot>)",
    R"(<robot name="r"><link name="a"/><link name="b"><collision><origin xyz="1 0 0"/><geometry><box size="1 2 3"/></geometry></collision></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="3" velocity="4"/></joint></robot>)",
    R"(<robot name="r"><material name="m"><color rgba="1 0 0 1"/></material><link name="a"><visual><geometry><cylinder radius="1" length="2"/></geometry><material name="m"/></visual><collision><geometry><sphere radius="1"/></geometry></collision></link></robot>)",
    R"(<robot name="r"><link name="a"/><link name="b"/><link name="c"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/><dynamics damping="1" friction="2"/></joint><joint name="k" type="prismatic"><parent link="b"/><child link="c"/><limit lower="-1" upper="1" effort="3" velocity="4"/><mimic joint="j" multiplier="2" offset="1"/></joint></robot>)",
    R"(<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="floating"><parent link="a"/><child link="b"/></joint><gazebo reference="a"><mu1>0.3</mu1></gazebo></robot>)",
    R"(<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="planar"><parent link="a"/><child link="b"/></joint><transmission name="t"><joint name="j"/><actuator name="m"><mechanicalReduction>5</mechanicalReduction></actuator></transmission><sensor name="s" update_rate="20"><parent link="a"/></sensor></robot>)",
};

inline constexpr const char* kSmallMjcf[] = {
    R"(<mujoco/>)",
    R"(<mujoco><worldbody><geom type="plane" size="0 0 1"/><body pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3" friction="1 .1 .1" condim="4"/></body></worldbody></mujoco>)",
    R"(<mujoco><compiler angle="radian" eulerseq="xyz"/><worldbody><body name="b" euler="0 0 1"><joint name="j" axis="0 1 0" range="-1 1" damping="1"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".1"/></body></worldbody><actuator><position joint="j" kp="3" ctrlrange="-1 1"/></actuator></mujoco>)",
    R"(<mujoco><option timestep="0.002" gravity="0 0 -9" density="1.2"/><default><default class="a"><geom density="900"/><joint stiffness="3"/></default></default><worldbody><body childclass="a"><joint type="ball"/><geom size=".1"/></body></worldbody></mujoco>)",
    R"(<mujoco><worldbody><body name="a"><joint name="j" type="slide"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body><body name="b"><joint name="k"/><geom size=".1"/></body></worldbody><equality><connect body1="a" body2="b" anchor="0 0 1"/><joint joint1="j" joint2="k" polycoef="0 1 0 0 0"/></equality></mujoco>)",
    R"(<mujoco><worldbody><body><joint name="j"/><geom size=".1"/><site name="s" pos="1 0 0"/></body><site name="o"/></worldbody><tendon><spatial name="w" stiffness="2"><site site="s"/><site site="o"/></spatial><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon><actuator><motor tendon="w" gear="-1"/></actuator></mujoco>)",
    R"(<mujoco><worldbody><replicate count="3" offset="1 0 0" euler="0 0 .5" sep="_"><body name="r"><joint name="j"/><geom size=".1"/></body></replicate><frame pos="0 0 1"><geom type="sphere" size=".1"/></frame></worldbody></mujoco>)",
    R"(<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/><hfield name="h" nrow="2" ncol="3" size="1 1 1 1" elevation="0 1 2 3 4 5"/></asset><worldbody><geom type="hfield" hfield="h"/><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>)",
    R"(<mujoco><worldbody><body name="b"><joint name="j"/><geom name="g" size=".1"/><site name="s"/></body><body name="c"><freejoint/><geom name="h" size=".1"/></body></worldbody><contact><exclude body1="b" body2="c"/><pair geom1="g" geom2="h" friction="1 1 .1 .1 .1"/></contact><sensor><gyro site="s"/><jointpos joint="j"/></sensor><keyframe><key name="k" qpos="1 0 0 1 1 0 0 0"/></keyframe></mujoco>)",
};

inline constexpr const char* kSmallSdf[] = {
    R"(<sdf version="1.9"><model name="m"><link name="a"/></model></sdf>)",
    R"(<sdf version="1.9"><model name="m"><link name="a"><pose>0 0 1 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial><collision name="c"><geometry><box><size>1 2 3</size></box></geometry></collision></link></model></sdf>)",
    R"(<sdf version="1.9"><model name="m"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis></joint></model></sdf>)",
    R"(<sdf version="1.7"><world name="w"><gravity>0 0 -9</gravity><model name="m"><static>true</static><link name="a"><collision name="c"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision></link></model></world></sdf>)",
};

inline constexpr const char* kSmallNative[] = {
    "bodies: [{name: a, mass: 1, shapes: {sphere: 1}}]\n",
    "settings: {dt: 0.001, solver: block, sleep: {speed: 0.1}}\ngravity: [0, 0, -9]\nground: {height: 0.1}\n",
    "materials: [{name: ice, friction: 0.1}, {name: tin, restitution: 0.5}]\npairs: [{between: [ice, tin], "
    "friction: 0.2}]\nground: {material: ice}\n",
    "bodies:\n  - &a {name: a, at: [0, 0, 1], rpy_deg: [1, 2, 3], shapes: [{box: [1, 2, 3]}]}\n  - {<<: *a, "
    "name: b, parent: a, joint: {kind: revolute, axis: [0, 1, 0], limits: [-1, 1], damping: 1, q: 0.5}}\n",
    "bodies:\n  - {name: a, shapes: {capsule: {radius: 0.1, length: 1}}, repeat: [{count: 2, offset: [0, 0, "
    "1]}]}\n  - {name: e, joint: spherical, shapes: {sphere: 1}, repeat: {count: 3, chain: true, offset: [0, "
    "0, 2]}}\n",
    "bodies: [{name: a, shapes: {compound: [{cone: {radius: 1, height: 1}}, {ellipsoid: [1, 2, 3], quat: [1, "
    "2, 3, 4]}]}}, {name: b, shapes: {hull: {points: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}}}]\n",
    "world: {shapes: {heightfield: {size: [1, 1], columns: 2, rows: 2, heights: [0, 1, 2, 3]}}}\n",
    "bodies: [{name: a, shapes: {sphere: 1}}, {name: c, shapes: {sphere: 1}}]\nloops: [{name: g, parent: c, "
    "child: a, kind: fixed, in_parent: {at: [1, 2, 3]}, open: true}, {name: i, kind: distance, parent: "
    "world, child: c, range: [0.1, 2]}]\nno_contact: [{between: [a, c]}]\n",
    "bodies: [{name: b, joint: {kind: revolute}, shapes: {sphere: 1}}]\nactuators: [{name: m, joints: "
    "[{joint: b, gear: 2}], control: [-1, 1], dynamics: filter, time_constant: 0.1, activation: [-1, "
    "1]}]\nsensors: [{name: s, kind: gyro, link: b, noise: 0.1}]\nkeyframes: [{name: k, joints: [{joint: b, "
    "q: 1}], control: [1]}]\ncontrollers: [{joints: \"*\", target: 1, stiffness: 2}]\n",
    "bodies: [{name: b, joint: {kind: universal, dofs: [{stiffness: 1}, {rest: 2}]}, shapes: {sphere: "
    "1}}]\ninitial: [{joint: b, q: [1, 2], v: [3, 4]}]\nframes: [{name: tip, link: b, at: [1, 2, "
    "3]}]\nlifts: [{link: b, share: 0.5}]\nfluid: {density: 1.2, viscosity: 0.1, wind: [1, 2, 3]}\n",
    "bodies: [{name: a, shapes: {sphere: 1}}, {name: b, joint: {kind: revolute}, shapes: {sphere: "
    "1}}]\ncables: [{name: c, path: [{from: a, to: b, to_point: [0, 0, 1]}], stiffness: 2, damping: 1, rest: "
    "[0.1, 0.5]}]\ntendons: [{name: t, joints: [{joint: b, gear: 2}], range: [-1, 1], limit_stiffness: "
    "3}]\nkinematic: [a]\n",
    "bodies: [{name: a, shapes: {sphere: 1}}]\nevents: [{time: 1, force: {link: a, force: [1, 2, 3]}}, "
    "{time: 2, every: 1, set: {settings.dt: 1}}]\nplots: [{signals: [time, link.a.px]}]\nui: [{slider: "
    "{name: x, key: gravity.z, min: 0, max: 2, value: 1}}, {text: {text: \"{time}\"}}]\nview: {from: [1, 2, "
    "3]}\nlook: {sky: \"#112233\"}\n",
};

}  // namespace karakuri::fuzz
