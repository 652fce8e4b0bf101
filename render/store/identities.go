// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"os"

	"filippo.io/age"
)

// ReadIdentities reads the age identities of files, for Options.Identities. Nothing of what
// is in a file shows in an error.
func ReadIdentities(files ...string) ([]age.Identity, error) {
	var identities []age.Identity
	for _, file := range files {
		opened, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		parsed, err := age.ParseIdentities(opened)
		if err := errors.Join(err, opened.Close()); err != nil {
			return nil, fmt.Errorf("%s holds no age identities", file)
		}
		identities = append(identities, parsed...)
	}
	return identities, nil
}
