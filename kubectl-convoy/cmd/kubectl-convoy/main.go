// SPDX-License-Identifier: Apache-2.0

// Command kubectl-convoy is the kubectl plugin of convoy: kubectl convoy.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kumodo.io/convoy/kubectl-convoy/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := command.Run(ctx, streams, arguments(os.Args))
	stop()
	os.Exit(code)
}

// completer is the name under which kubectl asks for completions. A link of that name to this
// binary answers.
const completer = "kubectl_complete-convoy"

// arguments gives those of the command, of the whole command line.
func arguments(line []string) []string {
	if name := strings.TrimSuffix(filepath.Base(line[0]), ".exe"); name != completer {
		return line[1:]
	}
	return append([]string{cobra.ShellCompRequestCmd}, line[1:]...)
}
