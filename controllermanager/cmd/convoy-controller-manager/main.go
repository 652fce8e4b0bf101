// SPDX-License-Identifier: Apache-2.0

// Command convoy-controller-manager brings Releases to their clusters: it fetches, renders,
// applies and prunes, and checks Clusters and sources.
package main

import (
	"os"
	_ "time/tzdata" // the time zones of sync windows, where the image has none

	"k8s.io/component-base/cli"

	"kumodo.io/convoy/controllermanager/internal/app"
	"kumodo.io/convoy/render/worker"
)

func main() {
	worker.Main() // this program is its own render worker
	os.Exit(cli.Run(app.NewCommand()))
}
