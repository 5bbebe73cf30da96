// mluOpSetGenCaseMode: the mode of recording calls.
#include "mlu_op.h"
#include "recording/case_settings.h"

void MLUOP_WIN_API mluOpSetGenCaseMode(int mode) { mluop::override_case_mode(mode); }
