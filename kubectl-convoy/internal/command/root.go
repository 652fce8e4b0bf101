// SPDX-License-Identifier: Apache-2.0

// Package command holds the subcommands of kubectl convoy. They speak to the host
// cluster's API server only and link none of convoy's server code.
package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Exit codes. diff, preview and health tell "it is otherwise" from "it failed".
const (
	exitOK        = 0
	exitDifferent = 1
	exitFailed    = 1 // of every command but diff, preview and health
	exitError     = 2 // of diff, preview and health
)

// exitCode is an error that carries the code with which the process ends. An empty
// message prints nothing.
type exitCode struct {
	code int
	err  error
}

func (e *exitCode) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitCode) Unwrap() error { return e.err }

// Run executes the command line args (without the program's name) and returns the
// process's exit code. Results go to streams.Out, everything else to streams.ErrOut.
func Run(ctx context.Context, streams genericiooptions.IOStreams, args []string) int {
	root := newRoot(streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	code := exitFailed
	var coded *exitCode
	if errors.As(err, &coded) {
		code = coded.code
	}
	if message := err.Error(); message != "" {
		fmt.Fprintf(streams.ErrOut, "error: %s\n", message)
	}
	return code
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true)
	env := &environment{flags: flags, IOStreams: streams}
	root := &cobra.Command{
		Use:   "kubectl-convoy",
		Short: "See and steer convoy's Releases",
		Long: "See and steer convoy's Releases: what state they are in, how their objects are, what a sync would\n" +
			"change, what differs from the cluster, what was applied before, and where values come from.\n\n" +
			"Everything is asked of the host cluster's API server, with your own credentials and rights.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl convoy"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	flags.AddFlags(root.PersistentFlags())
	root.AddCommand(
		newStatus(env),
		newHealth(env),
		newSync(env),
		newDiff(env),
		newPreview(env),
		newHistory(env),
		newValues(env),
		newVersion(env),
	)
	return root
}
