// SPDX-License-Identifier: Apache-2.0

// Package app is the command line of convoy-controller-manager.
package app

import (
	"context"

	"github.com/spf13/cobra"

	"kumodo.io/convoy/controllermanager/internal/manager"
	"kumodo.io/convoy/controllermanager/internal/options"
	"kumodo.io/convoy/internal/process"
)

const long = `convoy-controller-manager brings Releases to their target clusters: it finds the
wanted revision of their sources, renders its content, applies the objects in order,
removes what left the source, and keeps an inventory of what is there. It also checks
that Clusters and sources can be reached.`

// NewCommand returns the command convoy-controller-manager.
func NewCommand() *cobra.Command {
	o := options.New()
	return process.NewCommand("convoy-controller-manager", "Bring Releases to their target clusters", long, o, func(ctx context.Context) error {
		config, err := manager.NewConfig(o)
		if err != nil {
			return err
		}
		completed, err := config.Complete(ctx)
		if err != nil {
			return err
		}
		m, err := completed.New()
		if err != nil {
			return err
		}
		return m.Run(ctx)
	})
}
