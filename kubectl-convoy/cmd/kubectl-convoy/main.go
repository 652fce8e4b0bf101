// SPDX-License-Identifier: Apache-2.0

// Command kubectl-convoy is the kubectl plugin of convoy: kubectl convoy.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kumodo.io/convoy/kubectl-convoy/internal/command"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	code := command.Run(ctx, streams, os.Args[1:])
	stop()
	os.Exit(code)
}
