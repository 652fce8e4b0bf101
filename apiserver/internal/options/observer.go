// SPDX-License-Identifier: Apache-2.0

package options

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kumodo.io/convoy/apiserver/internal/proxy"
)

const defaultObserverURL = "http://convoy-observer.convoy-system.svc:8080"

// Observer is where convoy-observer is and how it is reached.
type Observer struct {
	URL            string
	CAFile         string
	ClientCertFile string
	ClientKeyFile  string

	timeout time.Duration
}

// AddFlags adds the flags.
func (o *Observer) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.URL, "observer-url", o.URL,
		"URL of convoy-observer, which answers the subresources preview, diff, health, history and values of Releases. "+
			"If empty, they answer 503 Service Unavailable.")
	fs.StringVar(&o.CAFile, "observer-ca-file", o.CAFile,
		"File with the certificates that convoy-observer's certificate is checked against, for an https URL. "+
			"If empty, the system's are used. The file may be replaced at any time.")
	fs.StringVar(&o.ClientCertFile, "observer-client-cert-file", o.ClientCertFile,
		"File with the client certificate that is shown to convoy-observer, for an https URL. "+
			"With it, convoy-observer is told who asks. The file may be replaced at any time.")
	fs.StringVar(&o.ClientKeyFile, "observer-client-key-file", o.ClientKeyFile,
		"File with the key of --observer-client-cert-file.")
}

// complete keeps the time limit below that of requests as a whole, so that the client
// hears from us why there is no answer.
func (o *Observer) complete(requestTimeout time.Duration) {
	o.timeout = min(proxy.DefaultTimeout, requestTimeout-requestTimeout/6)
}

// Validate checks the flags.
func (o *Observer) Validate() []error {
	var errs []error
	if o.URL != "" {
		if _, err := proxy.ParseURL(o.URL); err != nil {
			errs = append(errs, fmt.Errorf("--observer-url: %w", err))
		}
	}
	if (o.ClientCertFile == "") != (o.ClientKeyFile == "") {
		errs = append(errs, errors.New("--observer-client-cert-file and --observer-client-key-file must be given together"))
	}
	if !strings.HasPrefix(o.URL, "https://") && (o.CAFile != "" || o.ClientCertFile != "") {
		errs = append(errs, errors.New("--observer-ca-file and --observer-client-cert-file need an https URL in --observer-url"))
	}
	return errs
}

// proxy gives the way to the observer. own, unless nil, gives the certificates that are used
// where no files are given.
func (o *Observer) proxy(own func() (*tls.Config, error)) (*proxy.Proxy, error) {
	if o.CAFile != "" || o.ClientCertFile != "" {
		own = nil
	}
	return proxy.New(proxy.Config{
		URL:            o.URL,
		CAFile:         o.CAFile,
		ClientCertFile: o.ClientCertFile,
		ClientKeyFile:  o.ClientKeyFile,
		TLS:            own,
		Timeout:        o.timeout,
	})
}
