#include "io/urdf/schema.h"

#include "io/schema.h"

namespace karakuri::io {

namespace {

constexpr SchemaRow kTable[] = {
    {"robot",
     "name version ~xmlns:xacro ~xmlns ~xmlns:xsi ~xmlns:sensor ~xmlns:controller ~xmlns:interface "
     "~xmlns:drake",
     "link joint material transmission sensor gazebo ~ros2_control ~group ~mujoco ~static"},
    {"link", "name ~type", "inertial visual collision ~contact ~self_collision_checking ~verbose"},
    {"inertial", "", "origin mass inertia"},
    {"origin", "xyz rpy", ""},
    {"mass", "value", ""},
    {"inertia", "ixx ixy ixz iyy iyz izz", ""},
    {"visual", "name", "origin geometry material ~texture"},
    {"collision", "name ~group", "origin geometry ~material ~verbose ~contact_coefficients"},
    {"geometry", "", "box cylinder sphere capsule mesh"},
    {"box", "size", ""},
    {"cylinder", "radius length", ""},
    {"capsule", "radius length", ""},
    {"sphere", "radius", ""},
    {"mesh", "filename scale", ""},
    {"material", "name", "color ~texture"},
    {"color", "rgba", ""},
    {"joint", "name type",
     "origin parent child axis limit dynamics mimic ~calibration ~safety_controller !joint_properties"},
    {"transmission/joint", "name", "~hardwareInterface mechanicalReduction *"},
    {"parent", "link", ""},
    {"child", "link", ""},
    {"axis", "xyz", ""},
    {"limit", "lower upper effort velocity !acceleration !jerk", ""},
    {"dynamics", "damping friction spring_stiffness spring_reference armature", ""},
    {"mimic", "joint multiplier offset", ""},
    {"sensor", "name type update_rate ~id ~group", "parent origin camera ray *"},
    {"gazebo", "reference", "mu1 ~*"},
    {"transmission", "name ~type", "joint actuator ~type *"},
    {"transmission/actuator", "name", "mechanicalReduction ~hardwareInterface *"},
};

}  // namespace

void check_urdf_schema(XmlFile& xml, const XmlElement& robot) {
  check_schema(xml, robot, kTable, Unknown::kWarning);
}

}  // namespace karakuri::io
