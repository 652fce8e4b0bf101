// SPDX-License-Identifier: Apache-2.0

// Package process starts the binaries of a test environment as child processes,
// waits until they serve, stops or kills them, and starts them again with the
// same arguments. Each process has a log file and a pid file in one folder.
//
// A child dies with the program that started it (on Linux also when that
// program is killed), unless it is started detached: a demonstration leaves its
// environment running, and StopFolder ends it later from the pid files.
package process
