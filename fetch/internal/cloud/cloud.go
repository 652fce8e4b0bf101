// SPDX-License-Identifier: Apache-2.0

// Package cloud makes the credentials of registries from the identity that this process has
// in a cloud: Amazon ECR, Google Artifact Registry and Container Registry, Azure Container
// Registry.
//
// Identity and endpoints come from where each cloud's own library takes them: environment,
// files, web identity, metadata service. Nothing of a source can change them: of a source
// comes the host of the registry only, and that must be one of the cloud's own, so that
// nobody gets a token who is not the cloud.
//
// Each cloud can be left out with a build tag: convoy_without_ecr, convoy_without_gar,
// convoy_without_acr.
package cloud

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/expiring"
	"kumodo.io/convoy/fetch/internal/fault"
)

const (
	// margin is how long before its end a token is not used any more.
	margin = 2 * time.Minute
	// leastUse is how long a token is used at least. One that ends sooner than the margin
	// would be asked for at each request.
	leastUse = 30 * time.Second
)

// Credential opens a registry: Username and Password, or RefreshToken.
type Credential struct {
	Username, Password, RefreshToken string
}

// Clouds makes credentials and keeps them until shortly before they end. It is safe for
// concurrent use; a process has one.
type Clouds struct {
	now  func() time.Time
	kept *expiring.Cache[Credential]
}

// New returns Clouds without any credentials; now tells the time.
func New(now func() time.Time) *Clouds {
	return &Clouds{now: now, kept: expiring.New[Credential](now)}
}

// login asks a cloud for the credentials of a registry of its own. client is for requests
// to the registry itself.
type login func(ctx context.Context, host string, client *http.Client) (c Credential, until time.Time, err error)

// provider is a cloud.
type provider struct {
	name string
	// hosts are its registries, examples of which are for messages.
	hosts    *regexp.Regexp
	examples string
	login    login
}

var (
	awsPrivate = regexp.MustCompile(`^[0-9]{12}\.dkr[.-]ecr(-fips)?\.([a-z0-9-]+)\.(?:amazonaws\.(?:com|com\.cn|eu)|on\.(?:aws|amazonwebservices\.com\.cn))$`)
	awsHosts   = regexp.MustCompile(awsPrivate.String() + `|^public\.ecr\.aws$`)
	gcpHosts   = regexp.MustCompile(`^(?:[a-z0-9-]+\.)?gcr\.io$|^[a-z0-9-]+-docker\.pkg\.dev$`)
	azureHosts = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*\.azurecr\.(?:io|cn|us)$`)
)

func providerOf(name sourcev1alpha1.OCIProvider) (provider, bool) {
	switch name {
	case sourcev1alpha1.OCIProviderAWS:
		return provider{"AWS", awsHosts, "123456789012.dkr.ecr.eu-central-1.amazonaws.com or public.ecr.aws", logIntoAWS}, true
	case sourcev1alpha1.OCIProviderGCP:
		return provider{"Google Cloud", gcpHosts, "europe-docker.pkg.dev or gcr.io", logIntoGoogle}, true
	case sourcev1alpha1.OCIProviderAzure:
		return provider{"Azure", azureHosts, "example.azurecr.io", logIntoAzure}, true
	}
	return provider{}, false
}

// Check says whether a registry can be one of a provider's. host has no port. The error is
// fault.ErrInvalid.
func Check(name sourcev1alpha1.OCIProvider, host string) error {
	p, ok := providerOf(name)
	switch {
	case !ok:
		return fault.New(fault.ErrInvalid, "spec.provider %q is none of %s, %s, %s, %s", name, sourcev1alpha1.OCIProviderGeneric,
			sourcev1alpha1.OCIProviderAWS, sourcev1alpha1.OCIProviderGCP, sourcev1alpha1.OCIProviderAzure)
	case p.login == nil:
		return fault.New(fault.ErrInvalid, "spec.provider %q was left out when this program was built; use generic with a secretRef", name)
	case !p.hosts.MatchString(strings.ToLower(host)):
		return fault.New(fault.ErrInvalid, "spec.provider is %s, and %q is no registry of %s, such as %s: a token is sent to no other host; use generic with a secretRef", name, host, p.name, p.examples)
	}
	return nil
}

// Credential returns the credentials of a registry. The errors are fault.ErrInvalid,
// fault.ErrUnauthorized, fault.ErrUnreachable, and the context's.
func (c *Clouds) Credential(ctx context.Context, name sourcev1alpha1.OCIProvider, host string, client *http.Client) (Credential, error) {
	if err := Check(name, host); err != nil {
		return Credential{}, err
	}
	p, _ := providerOf(name)
	host = strings.ToLower(host)
	made, err := c.kept.Get(ctx, keyOf(name, host), func(ctx context.Context) (Credential, time.Time, error) {
		made, until, err := p.login(ctx, host, client)
		if err != nil {
			return made, until, err
		}
		if made == (Credential{}) {
			return made, until, fault.New(fault.ErrUnreachable, "%s gave no token for the registry", p.name)
		}
		least := c.now().Add(leastUse)
		if until = until.Add(-margin); until.Before(least) {
			until = least
		}
		return made, until, nil
	})
	if err != nil {
		return made, fault.FromRequest(err, nil)
	}
	return made, nil
}

// Forget drops credentials that a registry does not accept.
func (c *Clouds) Forget(name sourcev1alpha1.OCIProvider, host string) {
	c.kept.Forget(keyOf(name, strings.ToLower(host)))
}

func keyOf(name sourcev1alpha1.OCIProvider, host string) string { return string(name) + "/" + host }

// requestID is what clouds put into errors, another one each time.
var requestID = regexp.MustCompile(`(?i),? ?(?:request|trace|correlation)[ _]?id:? ?[0-9a-z-]*`)

// noIdentity is the error for who has no identity in a cloud, or cannot reach it. text is
// that of the cloud's library, and known to hold no secret.
func noIdentity(cloud, text string) error {
	return fault.New(fault.ErrUnreachable, "no token for the registry could be had from %s with the identity of this process: %s", cloud,
		(*fault.Scrubber)(nil).Clean(requestID.ReplaceAllString(text, "")))
}

// refused is the error for who has an identity that a cloud does not accept.
func refused(cloud, code, wayOut string) error {
	return fault.New(fault.ErrUnauthorized, "%s refuses the identity of this process a token for the registry (%s): %s", cloud, code, wayOut)
}

// statusAnd writes an HTTP status, and a code if there is one.
func statusAnd(status int, code string) string {
	text := "status " + strconv.Itoa(status)
	if code != "" {
		text += ", " + code
	}
	return text
}
