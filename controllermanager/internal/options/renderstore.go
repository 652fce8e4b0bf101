// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"time"

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
	// Retention is how long a stored render stays that no Release names; 0: for ever.
	Retention time.Duration
}

// NewRenderStore gives the defaults.
func NewRenderStore() *RenderStore { return &RenderStore{Retention: 30 * 24 * time.Hour} }

// shortestRetention is far more than clocks differ by, and leaves a day to notice a mistake.
const shortestRetention = 24 * time.Hour

// AddFlags adds the flags to fs.
func (o *RenderStore) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "render-store-url", o.URL, "Where renders are stored before they are applied, as a URL (s3://bucket/prefix, gs://…, azblob://…, file:///path). Empty: they are not, and no Release can be pinned to one.")
	fs.StringSliceVar(&o.Recipients, "render-store-recipient", o.Recipients, "age public keys (age1…) that stored renders are encrypted for.")
	fs.DurationVar(&o.Retention, "render-store-retention", o.Retention, "How long a stored render is kept after no Release's status, history or pin names it any more, 24h or more. 0: for ever.")
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
	if o.Retention != 0 && o.Retention < shortestRetention {
		errs = append(errs, fmt.Errorf("--render-store-retention: %s is less than %s", o.Retention, shortestRetention))
	}
	return errs
}
