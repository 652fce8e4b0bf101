// SPDX-License-Identifier: Apache-2.0

// Package app is the command convoy-apiserver.
package app

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/component-base/term"

	"kumodo.io/convoy/apiserver/internal/options"
)

// Version of this binary; set by the linker in a release build. It is not the version of
// the API server library, on which the library's feature gates depend.
var Version = "v0.9.0"

// NewCommand gives the command.
func NewCommand() (*cobra.Command, error) {
	registry := compatibility.DefaultComponentGlobalsRegistry
	o, err := options.New(registry)
	if err != nil {
		return nil, err
	}
	cmd := &cobra.Command{
		Use:   "convoy-apiserver",
		Short: "Serve the API of convoy",
		Long: `convoy-apiserver serves the API groups of convoy from etcd. It runs behind the
aggregation layer of a Kubernetes cluster, which it asks who a client is and what
it may do.`,
		Version: Version,
		Args:    cobra.NoArgs,
		// Feature gates must hold before anything reads them.
		PersistentPreRunE: func(*cobra.Command, []string) error { return registry.Set() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return run(genericapiserver.SetupSignalContext(), o)
		},
	}
	cmd.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	addFlags(cmd, o)
	return cmd, nil
}

func addFlags(cmd *cobra.Command, o *options.Options) {
	sections := o.Flags()
	globalflag.AddGlobalFlags(sections.FlagSet("global"), cmd.Name(), logs.SkipLoggingConfigurationFlags())
	for _, section := range sections.FlagSets {
		cmd.Flags().AddFlagSet(section)
	}
	width, _, _ := term.TerminalSize(os.Stdout)
	cliflag.SetUsageAndHelpFunc(cmd, sections, width)
}

// run serves until the context ends.
func run(ctx context.Context, o *options.Options) error {
	if err := logsapi.ValidateAndApply(o.Logging, nil); err != nil {
		return fmt.Errorf("configuring logs: %w", err)
	}
	if err := o.Complete(); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return err
	}
	config, err := o.Config(Version)
	if err != nil {
		return err
	}
	server, err := config.Complete().New()
	if err != nil {
		return err
	}
	return server.Run(ctx)
}
