// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"

	"gocloud.dev/gcerrors"
	"k8s.io/klog/v2"
)

// failedRequest is a request to the place that failed. Its text is the same each time that
// the same goes wrong, and shows no query of a URL, which may hold a signature.
type failedRequest struct {
	place, what, text string
	cause             error
}

func (e *failedRequest) Error() string {
	return fmt.Sprintf("%s in %s: %s", e.what, e.place, e.text)
}

func (e *failedRequest) Unwrap() []error { return []error{ErrUnavailable, e.cause} }

// failure makes the error of a request that failed; ctx is that of the request.
func (s *Store) failure(ctx context.Context, what string, err error) error {
	var slow errSlow
	switch {
	case errors.As(context.Cause(ctx), &slow):
		return &failedRequest{place: s.place.Name, what: what, text: slow.Error(), cause: slow}
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	// Services name each request, which helps those who run them.
	klog.FromContext(ctx).V(2).Info("The render store failed", "request", what, "store", s.place.Name, "err", scrub(err.Error()))
	return &failedRequest{place: s.place.Name, what: what, text: s.text(err), cause: err}
}

// explain gives what the service said of an error.
func (s *Store) explain(err error) (code, words string) {
	if err == nil || s.place.Explain == nil {
		return "", ""
	}
	return s.place.Explain(err)
}

// notThere are the codes with which services say that there is no such object.
var notThere = map[string]bool{"NoSuchKey": true, "NotFound": true, "404": true, "BlobNotFound": true}

// missing tells whether an error says that there is no such object. The libraries say
// "not found" of names of hosts, absent rights and absent buckets too.
func (s *Store) missing(err error) bool {
	if gcerrors.Code(err) != gcerrors.NotFound {
		return false
	}
	if s.place.Explain == nil {
		return true
	}
	code, _ := s.explain(err)
	return notThere[code]
}

// ways out of what services say.
var ways = map[string]string{
	"RequestTimeTooSkewed":  "; compare this machine's clock with the service's",
	"NoSuchDirectory":       "; mount or create it",
	"NoSuchBucket":          "; create it, or correct the URL",
	"ContainerNotFound":     "; create it, or correct the URL",
	"InvalidAccessKeyId":    "; correct the credentials",
	"SignatureDoesNotMatch": "; correct the credentials",
	"AuthenticationFailed":  "; correct the credentials",
	"ExpiredToken":          "; renew the credentials",
	"AccessDenied":          "; the credentials lack a right",
	"403":                   "; the credentials lack a right",
	"PermanentRedirect":     "; correct the region",
}

// text says what went wrong, for people.
func (s *Store) text(err error) string {
	if code, words := s.explain(err); code != "" {
		if words != "" {
			words = ": " + scrub(words)
		}
		return code + words + ways[code]
	}
	var network *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("looking up %s: %s", name.Name, scrub(name.Err))
	case errors.As(err, &certificate):
		return certificate.Error()
	case errors.As(err, &network):
		for errors.As(network.Err, &network) {
			continue // to the innermost, which knows best
		}
		// Not the address of this side, which is another one each time.
		text := network.Op
		if network.Addr != nil {
			text += " " + network.Addr.String()
		}
		return text + ": " + network.Err.Error()
	}
	var inURL *url.Error
	if errors.As(err, &inURL) {
		return scrub(inURL.Err.Error())
	}
	return scrub(err.Error())
}

var (
	// query is that of a URL in a text, which may hold a signature, and a user's part.
	query = regexp.MustCompile(`(\w+://)(?:[^/\s"@]+@)?([^\s"?]*)(?:\?[^\s"]*)?`)
	// ends are those of a connection: the first is another one each time.
	ends = regexp.MustCompile(`\S+:\d+->`)
)

// scrub takes out of a text what nobody should see, and what is of no interest.
func scrub(text string) string {
	return ends.ReplaceAllString(query.ReplaceAllString(text, "$1$2"), "")
}
