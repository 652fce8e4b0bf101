// SPDX-License-Identifier: Apache-2.0

// Package command holds the subcommands of kubectl convoy. They speak to the host
// cluster's API server only and link none of convoy's server code.
package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"kumodo.io/convoy/kubectl-convoy/internal/output"
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
	cmd, err := root.ExecuteContextC(ctx)
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
	if next := nextCommand(err); next != "" && next != cmd.CommandPath() {
		fmt.Fprintf(streams.ErrOut, "try: %s\n", next)
	}
	return code
}

// nextCommand gives the command that tells more about an error of the API, "" when the error
// says enough.
func nextCommand(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return ""
	}
	details := status.Status().Details
	ours := details != nil && strings.HasSuffix(details.Group, ".convoy.kumodo.io")
	switch {
	case apierrors.IsServiceUnavailable(err), apierrors.IsNotFound(err) && details != nil && slices.ContainsFunc(details.Causes, notOurs):
		return "kubectl convoy version"
	case apierrors.IsNotFound(err) && ours && details.Kind == releaseKind.resource.Resource:
		return "kubectl convoy status -A"
	case apierrors.IsNotFound(err) && ours && details.Kind == clusterKind.resource.Resource:
		return "kubectl convoy cluster list -A"
	}
	return ""
}

// notOurs tells an answer that is not of convoy's API, as where that is not installed.
func notOurs(cause metav1.StatusCause) bool {
	return cause.Type == metav1.CauseTypeUnexpectedServerResponse
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	return newRootFor(&environment{
		flags: genericclioptions.NewConfigFlags(true), IOStreams: streams, interactive: output.IsTerminal(streams.In),
	})
}

func newRootFor(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-convoy",
		Short: "See and steer convoy's Releases",
		Long: "See and steer convoy's Releases: what state they are in and why, how their objects are, what a sync would\n" +
			"change, what was applied before; sync them, let them through their gates, pin them and roll them back.\n\n" +
			"Everything is asked of the host cluster's API server, with your own credentials and rights; only 'cluster add'\n" +
			"and 'cluster remove' speak to a target too.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl convoy"},
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	env.flags.AddFlags(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("namespace", env.completeNamespaces)
	_ = root.RegisterFlagCompletionFunc("context", env.completeContexts)
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"see", "See:", []*cobra.Command{newStatus(env), newWhy(env), newTree(env), newHealth(env), newEvents(env), newHistory(env)}},
		{"compare", "Look ahead and compare:", []*cobra.Command{newPreview(env), newDiff(env), newRender(env), newValues(env)}},
		{"deliver", "Deliver:", []*cobra.Command{
			newSync(env), newApprove(env), newRetry(env), newSkip(env), newRollback(env), newPin(env), newUnpin(env), newMutate(env), newSuspend(env), newResume(env),
		}},
		{"set up", "Set up:", []*cobra.Command{newCreate(env), newCluster(env), newMigrate(env), newVersion(env)}},
		{"look after", "Look after the installation:", []*cobra.Command{newCheck(env), newShards(env), newDump(env)}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, command := range group.commands {
			command.GroupID = group.id
			root.AddCommand(command)
		}
	}
	return root
}
