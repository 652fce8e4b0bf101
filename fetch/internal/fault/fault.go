// SPDX-License-Identifier: Apache-2.0

// Package fault holds the kinds of failure that fetching knows, and makes error texts
// safe to show.
//
// An error that leaves the fetch module is always a text of our own plus one of the
// kinds below. The error of a library is never wrapped: its text, which may hold a URL
// with credentials or an echoed header, would come back through any log that unwraps.
package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// The kinds of failure. They are tested with errors.Is.
var (
	// ErrNotFound: the revision, chart, artifact or path does not exist at the source.
	ErrNotFound = errors.New("not found")
	// ErrUnreachable: the source did not answer, or answered that it cannot answer now.
	ErrUnreachable = errors.New("unreachable")
	// ErrUnauthorized: the source refused the credentials, or could not prove its identity.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrSecret: a Secret or one of its keys is missing or unusable.
	ErrSecret = errors.New("unusable secret")
	// ErrSecretNotFound: a Secret is missing; such an error is ErrSecret too.
	ErrSecretNotFound = errors.New("secret not found")
	// ErrInvalid: the source or the reference to content is configured wrongly.
	ErrInvalid = errors.New("invalid configuration")
	// ErrLimit: the content is larger than what is accepted.
	ErrLimit = errors.New("limit exceeded")
	// ErrContent: the content itself is unusable.
	ErrContent = errors.New("unusable content")
	// ErrVerification: a signature that is demanded is missing or not accepted. Such an
	// error is ErrContent too where nothing can change it but another content.
	ErrVerification = errors.New("not verified")
)

var kinds = []error{ErrNotFound, ErrUnreachable, ErrUnauthorized, ErrSecret, ErrSecretNotFound, ErrInvalid, ErrLimit, ErrContent, ErrVerification,
	context.Canceled, context.DeadlineExceeded}

// Error is a failure with a text that is safe to show.
type Error struct {
	kinds []error
	text  string
}

// Error returns the text.
func (e *Error) Error() string { return e.text }

// Unwrap returns the kinds, never the error of a library.
func (e *Error) Unwrap() []error { return e.kinds }

// Temporary is what an error of a file system is asked whether another time there may be none:
// content is what it is for good.
func (e *Error) Temporary() bool { return !errors.Is(e, ErrContent) && !errors.Is(e, ErrLimit) }

// New makes an error of a kind.
func New(kind error, format string, args ...any) error {
	return &Error{kinds: []error{kind}, text: fmt.Sprintf(format, args...)}
}

// NewSecretNotFound makes an error that tells which Secret is missing.
func NewSecretNotFound(name string) error {
	return &Error{kinds: []error{ErrSecret, ErrSecretNotFound}, text: fmt.Sprintf("the Secret %s does not exist", name)}
}

// NewUnverified makes an error of content whose signature is missing or not accepted, and
// which cannot be signed later.
func NewUnverified(format string, args ...any) error {
	return &Error{kinds: []error{ErrVerification, ErrContent}, text: fmt.Sprintf(format, args...)}
}

// Rewrite makes an error of the same kinds as err with another text.
func Rewrite(err error, text string) error {
	e := &Error{text: text}
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			e.kinds = append(e.kinds, kind)
		}
	}
	return e
}

// Kind returns the kind of err, nil when it has none.
func Kind(err error) error {
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}

// FromRequest gives an error of a request or connection a kind. An error that has one
// keeps it.
func FromRequest(err error, s *Scrubber) error {
	if err == nil {
		return nil
	}
	var own *Error
	if errors.As(err, &own) {
		return own
	}
	var connection *net.OpError
	if errors.Is(err, context.DeadlineExceeded) && errors.As(err, &connection) {
		// A limit of the connection's own is over, not the caller's.
		return Rewrite(errors.Join(ErrUnreachable, err), s.Clean(cause(err).Error()))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return Rewrite(err, s.Clean(cause(err).Error()))
	}
	return New(ErrUnreachable, "%s", s.Clean(explain(cause(err))))
}

// cause takes the method and URL off that net/http puts around an error.
func cause(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

func explain(err error) string {
	var (
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		verify   *tls.CertificateVerificationError
		dns      *net.DNSError
		record   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return "the certificate is signed by an unknown authority; give its CA in caSecretRef"
	case errors.As(err, &hostname):
		return "the certificate is not valid for the host: " + hostname.Error()
	case errors.As(err, &verify):
		return "the certificate is not accepted: " + verify.Err.Error()
	case errors.As(err, &dns):
		return fmt.Sprintf("the host name %s does not resolve: %s", dns.Name, dns.Err)
	case errors.As(err, &record):
		return "the server does not speak TLS on an HTTPS address"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the server's answer ends too early; a server or proxy on the way may have cut it off"
	case errors.Is(err, io.EOF):
		return "the server closed the connection without an answer"
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server speaks plain HTTP on an HTTPS address"
	}
	return err.Error()
}

// SomeCredentials is what FromStatus calls credentials that are of no Secret.
const SomeCredentials = "the credentials"

// FromStatus gives an HTTP status that is not a success a kind. what names the thing asked
// for, and credentials those that it was asked for with, "" for none.
func FromStatus(status int, what, credentials string) error {
	switch {
	case status == http.StatusUnauthorized && credentials == "":
		return New(ErrUnauthorized, "%s: the server asks for credentials (status 401) and none are configured; this may also mean that it does not exist", what)
	case status == http.StatusUnauthorized:
		return New(ErrUnauthorized, "%s: the server does not accept %s (status 401)", what, credentials)
	case status == http.StatusForbidden && credentials == "":
		return New(ErrUnauthorized, "%s: the server refuses access (status 403), and no credentials are configured", what)
	case status == http.StatusForbidden:
		return New(ErrUnauthorized, "%s: the server refuses access with %s (status 403)", what, credentials)
	case status == http.StatusProxyAuthRequired && credentials == "":
		return New(ErrUnauthorized, "%s: the proxy asks for credentials (status 407)", what)
	case status == http.StatusProxyAuthRequired:
		return New(ErrUnauthorized, "%s: the proxy does not accept %s (status 407)", what, credentials)
	case status == http.StatusNotFound || status == http.StatusGone:
		return New(ErrNotFound, "%s: not found (status %d)", what, status)
	}
	return New(ErrUnreachable, "%s: the server answered with status %d", what, status)
}
