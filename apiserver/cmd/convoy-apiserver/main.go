// SPDX-License-Identifier: Apache-2.0

// Command convoy-apiserver serves the API of convoy behind the aggregation layer of a
// Kubernetes cluster.
package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // schedules name time zones, and an image may lack their data

	"k8s.io/component-base/cli"

	"kumodo.io/convoy/apiserver/internal/app"
)

func main() {
	cmd, err := app.NewCommand()
	if err != nil {
		fmt.Fprintln(os.Stderr, "convoy-apiserver:", err)
		os.Exit(1)
	}
	os.Exit(cli.Run(cmd))
}
