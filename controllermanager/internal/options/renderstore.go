// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"

	"github.com/spf13/pflag"
)

// RenderStore says where renders are kept.
type RenderStore struct {
	// URL of the store; empty: renders are not kept.
	URL string
	// Recipients are age public keys that stored renders are encrypted for.
	Recipients []string
	// IdentityFiles have age identities that decrypt stored renders.
	IdentityFiles []string
	// AllowPlaintextSecrets stores renders with Secrets although there is no recipient.
	AllowPlaintextSecrets bool
}

// AddFlags adds the flags to fs.
func (o *RenderStore) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "render-store-url", o.URL, "Where renders are stored before they are applied, as a URL (file:///path, …). Empty: they are not, and no Release can be pinned to one.")
	fs.StringSliceVar(&o.Recipients, "render-store-recipient", o.Recipients, "age public keys (age1…) that stored renders are encrypted for.")
	fs.StringSliceVar(&o.IdentityFiles, "render-store-identity-file", o.IdentityFiles, "Files with age identities that decrypt stored renders.")
	fs.BoolVar(&o.AllowPlaintextSecrets, "render-store-allow-plaintext-secrets", o.AllowPlaintextSecrets, "Store renders with Secrets in clear when there is no --render-store-recipient. Without it such a Release is not applied.")
}

// Validate returns what is wrong.
func (o *RenderStore) Validate() []error {
	var errs []error
	if o.URL == "" && (len(o.Recipients) > 0 || len(o.IdentityFiles) > 0 || o.AllowPlaintextSecrets) {
		errs = append(errs, errors.New("--render-store-recipient, --render-store-identity-file and --render-store-allow-plaintext-secrets need --render-store-url"))
	}
	if len(o.Recipients) > 0 && len(o.IdentityFiles) == 0 {
		errs = append(errs, errors.New("--render-store-recipient needs --render-store-identity-file: a render that nobody can decrypt cannot be applied again"))
	}
	return errs
}
