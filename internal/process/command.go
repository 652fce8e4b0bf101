// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"

	"kumodo.io/convoy/internal/logs"
)

// Flags are what a command takes: flags that are added and then checked.
type Flags interface {
	AddFlags(fs *pflag.FlagSet)
	Validate() error
}

// NewCommand returns the command of a server: its own flags, those for logs, and --version.
// run works until its context ends, which SIGTERM and SIGINT bring about.
func NewCommand(name, short, long string, flags Flags, run func(ctx context.Context) error) *cobra.Command {
	logging := logsapi.NewLoggingConfiguration()
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Version: Version,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true, // cli.Run prints them
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := flags.Validate(); err != nil {
				return err
			}
			if err := errors.Join(logs.Check(logging)...); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(logging, nil); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal kills
			ctx = klog.NewContext(ctx, klog.Background())
			klog.FromContext(ctx).Info("starting", "component", name, "version", Version)
			return run(ctx)
		},
	}
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	cmd.SetContext(context.Background())
	flags.AddFlags(cmd.Flags())
	logsapi.AddFlags(logging, cmd.Flags())
	return cmd
}
