// SPDX-License-Identifier: Apache-2.0

package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

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

// ParseRecipients reads age public keys, for Options.Recipients. A key does not show in an
// error: it may be a private one that was given by mistake.
func ParseRecipients(keys ...string) ([]age.Recipient, error) {
	var recipients []age.Recipient
	for i, key := range keys {
		parsed, err := age.ParseRecipients(strings.NewReader(key))
		if err != nil {
			return nil, fmt.Errorf("key %d of %d is no age public key (age1…)", i+1, len(keys))
		}
		recipients = append(recipients, parsed...)
	}
	if len(recipients) == 0 {
		return nil, nil
	}
	// Keys that withstand quantum computers do not go with others.
	if _, err := age.Encrypt(io.Discard, recipients...); err != nil {
		return nil, fmt.Errorf("these age public keys cannot be used together: %w", err)
	}
	return recipients, nil
}
