/* Crashes under the name that it is given: the kernel prints that name and the file's. */
#include <sys/prctl.h>

int main(int count, char **words)
{
    if (count > 1)
        prctl(PR_SET_NAME, words[1]);
    *(volatile int *)8 = 1;
    return 0;
}
