#include "io/mjcf/schema.h"

#include "io/schema.h"

namespace karakuri::io {

namespace {

#define KARAKURI_PLACE "pos quat axisangle xyaxes zaxis euler "
#define KARAKURI_LIMB "geom site body camera ~light frame !composite !flexcomp replicate !attach !plugin"
#define KARAKURI_ACTUATOR                                                                                  \
  "name class ~group ctrllimited forcelimited actlimited ctrlrange forcerange actrange ~lengthrange gear " \
  "!cranklength joint jointinparent tendon site !refsite !body !cranksite !slidersite ~user !actdim "      \
  "!actearly !nsample !interp !delay "
#define KARAKURI_EQUALITY "name class active solref solimp "
#define KARAKURI_TENDON                                                                                    \
  "name class ~group limited range !actuatorfrclimited !actuatorfrcrange solreflimit solimplimit "         \
  "%solreffriction %solimpfriction !frictionloss !margin springlength stiffness damping !armature ~width " \
  "~material ~rgba ~user "
#define KARAKURI_SENSORS                                                                                    \
  "touch accelerometer velocimeter gyro force torque magnetometer rangefinder camprojection jointpos "      \
  "jointvel tendonpos tendonvel actuatorpos actuatorvel actuatorfrc jointactuatorfrc tendonactuatorfrc "    \
  "ballquat ballangvel jointlimitpos jointlimitvel jointlimitfrc tendonlimitpos tendonlimitvel "            \
  "tendonlimitfrc framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel framelinacc " \
  "frameangacc subtreecom subtreelinvel subtreeangmom insidesite distance normal fromto contact tactile "   \
  "e_potential e_kinetic clock user plugin"

constexpr SchemaRow kTable[] = {
    {"mujoco", "model",
     "compiler option ~size ~visual ~statistic default ~custom asset worldbody contact equality tendon "
     "actuator "
     "sensor keyframe !deformable !extension"},
    {"mujocoinclude", "model",
     "compiler option ~size ~visual ~statistic default ~custom asset worldbody contact equality tendon "
     "actuator "
     "sensor keyframe !deformable !extension"},
    {"compiler",
     "autolimits boundmass boundinertia settotalmass balanceinertia strippath coordinate angle fitaabb "
     "eulerseq "
     "meshdir texturedir assetdir ~discardvisual ~usethread ~fusestatic inertiafromgeom inertiagrouprange "
     "exactmeshinertia ~convexhull ~alignfree ~saveinertial ~conflict",
     "~lengthrange"},
    {"option",
     "timestep ~apirate ~impratio gravity wind ~magnetic density viscosity !o_margin !o_solref !o_solimp "
     "!o_friction integrator cone ~jacobian ~solver ~iterations ~tolerance ~ls_iterations ~ls_tolerance "
     "~noslip_iterations ~noslip_tolerance ~ccd_iterations ~ccd_tolerance ~mpr_iterations ~mpr_tolerance "
     "~sdf_iterations ~sdf_initpoints !actuatorgroupdisable ~collision ~sleep_tolerance",
     "flag"},
    {"flag",
     "constraint equality frictionloss limit contact passive spring damper gravity !clampctrl warmstart "
     "filterparent actuation refsafe ~sensor !override ~energy ~fwdinv ~invdiscrete ~sensornoise ~multiccd "
     "~island "
     "~eulerdamp ~autoreset ~nativeccd ~midphase ~sleep",
     ""},
    {"default", "class",
     "mesh material joint geom site camera ~light pair equality tendon general motor position velocity "
     "intvelocity "
     "damper cylinder muscle adhesion default"},
    {"asset", "", "mesh hfield material ~texture ~skin !model"},
    {"mesh",
     "name class file vertex ~normal ~texcoord face refpos refquat scale ~smoothnormal ~content_type inertia "
     "~maxhullvert !builtin !params ~material",
     "!plugin"},
    {"hfield", "name file nrow ncol size elevation ~content_type", ""},
    {"material",
     "name class rgba ~texture ~emission ~specular ~shininess ~reflectance ~metallic ~roughness ~texrepeat "
     "~texuniform",
     "~layer"},
    {"worldbody", "", KARAKURI_LIMB},
    {"body", KARAKURI_PLACE "name childclass mocap gravcomp ~user ~sleep",
     "inertial joint freejoint " KARAKURI_LIMB},
    {"replicate", "count offset euler sep childclass", "joint freejoint " KARAKURI_LIMB},
    {"frame", KARAKURI_PLACE "name childclass", "joint freejoint " KARAKURI_LIMB},
    {"inertial", KARAKURI_PLACE "mass diaginertia fullinertia", ""},
    {"joint",
     "name class type ~group pos axis springdamper solreflimit solimplimit %solreffriction "
     "%solimpfriction "
     "stiffness range limited actuatorfrclimited actuatorfrcrange !actuatorgravcomp margin ref springref "
     "armature "
     "damping frictionloss ~user",
     ""},
    {"freejoint", "name ~group ~align", ""},
    {"geom",
     KARAKURI_PLACE
     "name class type contype conaffinity condim group priority size material friction mass density "
     "shellinertia solmix solref solimp margin gap fromto hfield mesh fitscale rgba !fluidshape "
     "!fluidcoef ~user",
     "!plugin"},
    {"site", KARAKURI_PLACE "name class ~type ~group ~material ~size fromto ~rgba ~user", ""},
    {"camera", KARAKURI_PLACE "name class fovy ~*", ""},
    {"contact", "", "pair exclude"},
    {"pair", "name class geom1 geom2 condim friction solref solimp %solreffriction !margin !gap", ""},
    {"exclude", "name body1 body2", ""},
    {"equality", "", "connect weld joint tendon !flex !distance !flexvert !flexstrain"},
    {"default/equality", KARAKURI_EQUALITY, ""},
    {"connect", KARAKURI_EQUALITY "body1 body2 anchor site1 site2", ""},
    {"weld", KARAKURI_EQUALITY "body1 body2 anchor site1 site2 relpose !torquescale", ""},
    {"equality/joint", KARAKURI_EQUALITY "joint1 joint2 polycoef", ""},
    {"equality/tendon", KARAKURI_EQUALITY "tendon1 tendon2 polycoef", ""},
    {"tendon", "", "fixed spatial"},
    {"default/tendon", KARAKURI_TENDON, ""},
    {"fixed", KARAKURI_TENDON, "joint"},
    {"fixed/joint", "joint coef", ""},
    {"spatial", KARAKURI_TENDON, "site geom pulley"},
    {"spatial/site", "site", ""},
    {"spatial/geom", "geom sidesite", ""},
    {"spatial/pulley", "divisor", ""},
    {"actuator", "",
     "general motor position velocity intvelocity damper cylinder !muscle !adhesion !plugin !dcmotor"},
    {"general", KARAKURI_ACTUATOR "dyntype gaintype biastype dynprm gainprm biasprm", ""},
    {"motor", KARAKURI_ACTUATOR, ""},
    {"position", KARAKURI_ACTUATOR "kp kv dampratio timeconst inheritrange", ""},
    {"intvelocity", KARAKURI_ACTUATOR "kp kv dampratio inheritrange", ""},
    {"cylinder", KARAKURI_ACTUATOR "timeconst area diameter bias", ""},
    {"velocity", KARAKURI_ACTUATOR "kv", ""},
    {"damper", KARAKURI_ACTUATOR "kv", ""},
    {"sensor", "", KARAKURI_SENSORS},
    {"keyframe", "", "key"},
    {"key", "name time qpos qvel act ctrl mpos mquat", ""},
};

}  // namespace

void check_mjcf_schema(XmlFile& xml, const XmlElement& root) {
  check_schema(xml, root, kTable, Unknown::kError);
}

}  // namespace karakuri::io
