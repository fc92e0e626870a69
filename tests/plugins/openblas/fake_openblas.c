/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fake OpenBLAS without products. It knows the core HASWELL; for any other name it uses PRESCOTT. */
#include <stdlib.h>
#include <strings.h>

static char kHaswell[] = "Haswell", kPrescott[] = "Prescott", kConfig[] = "OpenBLAS 0.0 DYNAMIC_ARCH";
static char* taken = kPrescott;

__attribute__((constructor)) static void start(void) {
    const char* wanted = getenv("OPENBLAS_CORETYPE");
    if (wanted && strcasecmp(wanted, "HASWELL") == 0) taken = kHaswell;
}

char* openblas_get_corename(void) { return taken; }
char* openblas_get_config(void) { return kConfig; }
void openblas_set_num_threads(int threads) { (void)threads; }
void cblas_sgemm(void) {}
void cblas_sgemv(void) {}
