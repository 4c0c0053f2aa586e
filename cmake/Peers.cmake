# Engines to agree with (tests) and to compare speed with (benchmarks), each as karakuri_peer_<name> where it is
# installed, with KARAKURI_HAVE_<NAME> defined. karakuri_peers: those that were found. The library uses none.
# SYSTEM includes, because their headers do not pass our warnings.
set(karakuri_peers "")

function(karakuri_add_peer name)
  cmake_parse_arguments(PEER "" "" "LIBRARIES;INCLUDES" ${ARGN})
  string(TOUPPER ${name} NAME)
  add_library(karakuri_peer_${name} INTERFACE)
  target_link_libraries(karakuri_peer_${name} INTERFACE ${PEER_LIBRARIES})
  target_include_directories(karakuri_peer_${name} SYSTEM INTERFACE ${PEER_INCLUDES})
  target_compile_definitions(karakuri_peer_${name} INTERFACE KARAKURI_HAVE_${NAME}=1)
  set(karakuri_peers ${karakuri_peers} ${name} PARENT_SCOPE)
endfunction()

# Not mujoco's own package file: that one demands OpenGL, which the physics does not need.
find_library(MUJOCO_LIBRARY mujoco)
find_path(MUJOCO_INCLUDE_DIR mujoco/mujoco.h)
if(MUJOCO_LIBRARY AND MUJOCO_INCLUDE_DIR)
  karakuri_add_peer(mujoco LIBRARIES ${MUJOCO_LIBRARY} INCLUDES ${MUJOCO_INCLUDE_DIR})
endif()

find_package(DART QUIET COMPONENTS dart)
if(DART_FOUND)
  karakuri_add_peer(dart LIBRARIES dart)
endif()

# Debian's second build of Bullet, in double precision like ours.
find_library(BULLET_COLLISION_LIBRARY BulletCollision-float64)
find_library(BULLET_DYNAMICS_LIBRARY BulletDynamics-float64)
find_library(BULLET_MATH_LIBRARY LinearMath-float64)
find_path(BULLET_INCLUDE_DIR btBulletDynamicsCommon.h PATH_SUFFIXES bullet)
if(BULLET_COLLISION_LIBRARY AND BULLET_DYNAMICS_LIBRARY AND BULLET_MATH_LIBRARY AND BULLET_INCLUDE_DIR)
  karakuri_add_peer(bullet INCLUDES ${BULLET_INCLUDE_DIR}
    LIBRARIES ${BULLET_DYNAMICS_LIBRARY} ${BULLET_COLLISION_LIBRARY} ${BULLET_MATH_LIBRARY})
  target_compile_definitions(karakuri_peer_bullet INTERFACE BT_USE_DOUBLE_PRECISION)
endif()

find_library(ODE_LIBRARY ode)
find_path(ODE_INCLUDE_DIR ode/ode.h)
if(ODE_LIBRARY AND ODE_INCLUDE_DIR)
  karakuri_add_peer(ode LIBRARIES ${ODE_LIBRARY} INCLUDES ${ODE_INCLUDE_DIR})
endif()

find_package(fcl QUIET)
if(fcl_FOUND)
  karakuri_add_peer(fcl LIBRARIES fcl)
endif()
