// SPDX-License-Identifier: Apache-2.0

// Package logs keeps secrets out of the logs of the servers.
package logs

import (
	"fmt"

	logsapi "k8s.io/component-base/logs/api/v1"
)

// maxVerbosity is where client-go begins to log the bodies of requests and answers, Secrets
// included.
const maxVerbosity = 8

// Check refuses flags with which client-go would log the bodies of requests and answers: as a
// whole, or in some of its files. All that is wrong is reported.
func Check(logging *logsapi.LoggingConfiguration) []error {
	var errs []error
	if logging.Verbosity >= maxVerbosity {
		errs = append(errs, fmt.Errorf("--v: %d and above would log the bodies of requests and answers, Secrets included; %d is the highest", maxVerbosity, maxVerbosity-1))
	}
	for _, item := range logging.VModule {
		if item.Verbosity >= maxVerbosity {
			errs = append(errs, fmt.Errorf("--vmodule: %s=%d could log the bodies of requests and answers, Secrets included; %d is the highest", item.FilePattern, item.Verbosity, maxVerbosity-1))
		}
	}
	return errs
}
