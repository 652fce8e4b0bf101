// SPDX-License-Identifier: Apache-2.0

// Command convoy-observer watches what convoy delivered: it judges health, finds drift, and
// answers preview, diff, health, history and values. It never applies anything.
package main

import (
	"os"

	"k8s.io/component-base/cli"

	"kumodo.io/convoy/observer/internal/app"
	"kumodo.io/convoy/render/worker"
)

func main() {
	worker.Main() // this program is its own render worker
	os.Exit(cli.Run(app.NewCommand()))
}
