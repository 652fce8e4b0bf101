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
	"strings"

	"gocloud.dev/gcerrors"
	"k8s.io/klog/v2"
)

// failedRequest is a request to the place that failed. Its text is the same each time that
// the same goes wrong, and shows nothing that may be a credential.
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
	failed := &failedRequest{place: s.place.Name, what: what, text: s.text(err), cause: err}
	_, request := s.explain(err)
	if !requestName.MatchString(request) {
		request = ""
	}
	// Services name each request, which helps those who run them.
	klog.FromContext(ctx).V(2).Info("The render store failed", "request", what, "store", s.place.Name, "err", failed.text, "nameOfRequest", request)
	return failed
}

// explain gives what the service said of an error.
func (s *Store) explain(err error) (code, request string) {
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
	"XAdminUserNotFound":    "; correct the credentials",
	"SignatureDoesNotMatch": "; correct the credentials",
	"AuthenticationFailed":  "; correct the credentials",
	"ExpiredToken":          "; renew the credentials",
	"AccessDenied":          "; the credentials lack a right",
	"403":                   "; the credentials lack a right",
	"PermanentRedirect":     "; correct the region",
	"PreconditionFailed":    "; the service says that it is there, and that it is not",
	"412":                   "; the service says that it is there, and that it is not",
}

var (
	// codeName is what codes of services look like. Services, and proxies before them, can put
	// anything there. No ID of an access key looks like one.
	codeName = regexp.MustCompile(`^(?:(?:KMS\.)?[A-Z]{1,8}[a-z][A-Za-z0-9]{1,47}|[0-9]{3})$`)
	// requestName is what names of requests look like.
	requestName = regexp.MustCompile(`^[A-Za-z0-9-]{1,40}$`)
)

// text says what went wrong, for people.
func (s *Store) text(err error) string {
	if code, _ := s.explain(err); code != "" {
		if !codeName.MatchString(code) {
			return "it was refused, with no code that can be shown"
		}
		return code + ways[code]
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

// notShown stands for what is taken out of a text.
const notShown = "(not shown)"

var (
	// query is that of a URL in a text, which may hold a signature, and a user's part.
	query = regexp.MustCompile(`(\w+://)(?:[^/\s"@]+@)?([^\s"?]*)(?:\?[^\s"]*)?`)
	// ends are those of a connection: the first is another one each time.
	ends = regexp.MustCompile(`\S+:\d+->`)
	// malformed is what the HTTP library says of answers that are none; it quotes them.
	malformed = regexp.MustCompile(`(malformed (?:HTTP|MIME)(?: [A-Za-z]+)*:?)\s*.*`)
	// quoted is a quotation that is no URL: libraries quote what was answered.
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	address = regexp.MustCompile(`^"\w+://`)
	// signed is how what authorizes a request begins. No end of it can be told.
	signed = regexp.MustCompile(`(?i)(?:AWS4-|Authorization\b|Bearer\s|SharedKey|Credential=|Signature=|X-Amz-|\bsig=|\btoken=).*`)
	// random is what is too long to be a word.
	random = regexp.MustCompile(`[A-Za-z0-9+=_-]{40,}`)
)

// scrub takes out of a text what nobody should see, and what is of no interest. Of several
// lines the first is left: bodies of answers follow.
func scrub(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	text = ends.ReplaceAllString(query.ReplaceAllString(text, "$1$2"), "")
	text = malformed.ReplaceAllString(text, "$1 "+notShown)
	text = quoted.ReplaceAllStringFunc(text, func(quotation string) string {
		if address.MatchString(quotation) {
			return quotation
		}
		return notShown
	})
	text = signed.ReplaceAllString(text, notShown)
	return random.ReplaceAllString(text, notShown)
}
