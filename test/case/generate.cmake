# Writes cases of network sizes with many values by `mluop_case new` into FOLDER, named as the files of test/cases.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
function(generate name)
  cmake_path(GET name PARENT_PATH operator)
  file(MAKE_DIRECTORY ${FOLDER}/${operator})
  execute_process(COMMAND ${MLUOP_CASE} new ${operator} ${ARGN} --output ${FOLDER}/${name}.prototxt
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

generate(boxes_overlap_bev/network --size n=500,m=40)
generate(nms_match/network --size n=800,side=15)
generate(soft_nms/network --size n=1000,side=15,method=2)
foreach(dtype IN ITEMS float half)
  generate(dcn_backward_data/network_${dtype} --dtype ${dtype}
    --size n=1,h=100,w=152,ci=32,co=32,kh=3,kw=3,groups=1,deformable_groups=1)
  generate(indice_convolution_forward/network_fiftieth_4_${dtype} --dtype ${dtype}
    --size num_act_in=1176,num_act_out=908,ci=128,co=128,d=3,h=1,w=1)
endforeach()
foreach(direction IN ITEMS forward backward)
  generate(focal_loss_sigmoid_${direction}/network_float --size n=2520,c=80,weighted=0)
  generate(focal_loss_sigmoid_${direction}/network_half --dtype half --size n=2520,c=80)
endforeach()
