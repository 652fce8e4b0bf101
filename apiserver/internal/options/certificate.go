// SPDX-License-Identifier: Apache-2.0

package options

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	logsapi "k8s.io/component-base/logs/api/v1"

	"kumodo.io/convoy/apiserver/internal/certificates"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/internal/certificate"
	"kumodo.io/convoy/internal/logs"
)

// Certificate is whether the server makes its certificates itself.
type Certificate struct {
	Secret string
}

// AddFlags adds the flags.
func (c *Certificate) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.Secret, "certificate-secret", c.Secret,
		"Namespace and name, as in convoy-system/convoy-ca, of the Secret of the host with the certificate authority of the installation, "+
			"which is filled in and renewed there. With it, the server makes its serving certificate itself, keeps the caBundle of its APIServices, "+
			"and reaches an https URL in --observer-url with a client certificate of that authority, unless files are given for that. "+
			"Not to be given together with --tls-cert-file.")
}

func (c *Certificate) enabled() bool { return c.Secret != "" }

// Validate checks the flags, and those that do not go together with them.
func (c *Certificate) Validate(files genericoptions.CertKey, logging *logsapi.LoggingConfiguration) []error {
	if !c.enabled() {
		return nil
	}
	var errs []error
	if _, err := certificate.ParseSecret(c.Secret); err != nil {
		errs = append(errs, fmt.Errorf("--certificate-secret: %w", err))
	}
	if files.CertFile != "" {
		errs = append(errs, errors.New("--certificate-secret and --tls-cert-file exclude each other: the serving certificate is either made here or read from a file"))
	}
	if files.KeyFile != "" {
		errs = append(errs, errors.New("--certificate-secret and --tls-private-key-file exclude each other: the serving certificate is either made here or read from a file"))
	}
	// The key of the authority is in what the host answers.
	return append(errs, logs.Check(logging)...)
}

// serve has the library serve with a certificate that is made here; nil when it is not.
func (c *Certificate) serve(options *genericoptions.SecureServingOptionsWithLoopback) (*certificates.Serving, error) {
	if !c.enabled() {
		return nil, nil
	}
	serving, err := certificates.NewServing(certificates.ServiceName(namespace))
	if err != nil {
		return nil, err
	}
	options.ServerCert.GeneratedCert = serving
	return serving, nil
}

// keep has the server keep its certificates while it runs, and be ready only with them. It
// gives what shows the server to the observer; nil when certificates are not made here.
func (c *Certificate) keep(generic *genericapiserver.RecommendedConfig, serving *certificates.Serving) (func() (*tls.Config, error), error) {
	if !c.enabled() {
		return nil, nil
	}
	secret, err := certificate.ParseSecret(c.Secret)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, version := range scheme.GroupVersions() {
		names = append(names, version.Version+"."+version.Group)
	}
	kept, err := certificates.New(certificates.Config{Secret: secret, APIServices: names, Serving: serving}, generic.ClientConfig)
	if err != nil {
		return nil, err
	}
	generic.AddReadyzChecks(kept)
	return kept.ObserverTLS, generic.AddPostStartHook(kept.Name(), func(hook genericapiserver.PostStartHookContext) error {
		go kept.Run(hook)
		return nil
	})
}
