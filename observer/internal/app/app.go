// SPDX-License-Identifier: Apache-2.0

// Package app is the command line of convoy-observer.
package app

import (
	"context"

	"github.com/spf13/cobra"

	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/observer/internal/manager"
	"kumodo.io/convoy/observer/internal/options"
)

const long = `convoy-observer watches what convoy delivered to the target clusters. It judges the
health of every object, finds what differs from what was applied and asks for a sync
where that is wanted, follows hooks to their end, and answers the subresources preview,
diff, health, history and values of Releases for convoy-apiserver.

It never applies anything: its connections to target clusters refuse every request that
is neither a read nor a dry run.`

// NewCommand returns the command convoy-observer.
func NewCommand() *cobra.Command {
	o := options.New()
	return process.NewCommand("convoy-observer", "Watch health and drift of what convoy delivered", long, o, func(ctx context.Context) error {
		config, err := manager.NewConfig(o)
		if err != nil {
			return err
		}
		completed, err := config.Complete(ctx)
		if err != nil {
			return err
		}
		m, err := completed.New(ctx)
		if err != nil {
			return err
		}
		return m.Run(ctx)
	})
}
