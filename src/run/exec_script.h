/* SPDX-License-Identifier: Apache-2.0 */
/* What POSIX wants of execvp and musl leaves out: a file that is no program is a script of the shell. */
#ifndef RUN_EXEC_SCRIPT_H
#define RUN_EXEC_SCRIPT_H

/* To be called where execvpe has failed with ENOEXEC. Looks the file up as execvpe does, and returns only where the
 * shell cannot be run, with errno. Safe between fork and exec. */
void exec_script(char *const argv[], char *const environment[]);

#endif
