// SPDX-License-Identifier: Apache-2.0

// Package options holds the flags of convoy-observer.
package options

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"kumodo.io/convoy/fetch"
	fetchflags "kumodo.io/convoy/fetch/flags"
	"kumodo.io/convoy/internal/certificate"
	"kumodo.io/convoy/internal/process"
	"kumodo.io/convoy/render"
	renderflags "kumodo.io/convoy/render/flags"
)

// Options are all flags of convoy-observer.
type Options struct {
	Process *process.Options
	Serving *Serving
	Content *Content
	Drift   *Drift
}

// New returns the defaults.
func New() *Options {
	return &Options{
		Process: process.NewOptions(), Serving: &Serving{Addr: ":8080"},
		Content: &Content{CacheBytes: 512 << 20, Limits: fetch.DefaultLimits(), Rendering: render.DefaultLimits(), RenderWorkers: true},
		Drift:   &Drift{FullInterval: 24 * time.Hour},
	}
}

// AddFlags adds every flag to fs.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.Process.AddFlags(fs)
	o.Serving.AddFlags(fs)
	o.Content.AddFlags(fs)
	o.Drift.AddFlags(fs)
}

// Validate returns what is wrong with the flags, all at once.
func (o *Options) Validate() error {
	return errors.Join(append(o.Process.Validate(), append(o.Serving.Validate(), append(o.Content.Validate(), o.Drift.Validate()...)...)...)...)
}

// Drift says how drift is looked for.
type Drift struct {
	// FullInterval is how often all objects are compared, whatever the watches say; 0: never.
	FullInterval time.Duration
}

// AddFlags adds the flags to fs.
func (o *Drift) AddFlags(fs *pflag.FlagSet) {
	fs.DurationVar(&o.FullInterval, "drift-full-interval", o.FullInterval, "How often every object of a Release is compared with what was applied although its watch says that nobody has written to it; each Release at a time of its own. 0: never.")
}

// Validate returns what is wrong.
func (o *Drift) Validate() []error {
	if o.FullInterval != 0 && o.FullInterval < time.Second {
		return []error{fmt.Errorf("--drift-full-interval: %v is neither 0 nor 1s or more", o.FullInterval)}
	}
	return nil
}

// Serving says how preview, diff, health, history and values are served.
type Serving struct {
	Addr                    string
	TLSCertFile, TLSKeyFile string
	ClientCAFile            string
	AllowedClientNames      []string
	// CertificateSecret is the namespace and name of the Secret with the authority by which
	// the process makes its certificate, instead of the files.
	CertificateSecret string
	// ImpersonateUser has objects of targets read as whoever asks.
	ImpersonateUser bool
}

// AddFlags adds the flags to fs.
func (o *Serving) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Addr, "serve-addr", o.Addr, "Address at which /preview/, /diff/, /health/, /history/ and /values/ + {namespace}/{name} are served to convoy-apiserver.")
	fs.StringVar(&o.TLSCertFile, "tls-cert-file", o.TLSCertFile, "Serving certificate for --serve-addr, read again when it changes. Empty: plain HTTP.")
	fs.StringVar(&o.TLSKeyFile, "tls-private-key-file", o.TLSKeyFile, "Private key of --tls-cert-file.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile, "CA of the client certificates that are demanded at --serve-addr. Empty: anybody who can connect is answered.")
	fs.StringSliceVar(&o.AllowedClientNames, "allowed-client-names", o.AllowedClientNames, "Common names of client certificates that are answered. Empty: all that --client-ca-file, or the authority of --certificate-secret, signed.")
	fs.BoolVar(&o.ImpersonateUser, "impersonate-user-on-target", o.ImpersonateUser, "Read objects of targets as whoever asks, for preview, diff and health, so that answers show only what that user may read there. The credentials of Clusters must be allowed to impersonate users, groups and extras.")
	fs.StringVar(&o.CertificateSecret, "certificate-secret", o.CertificateSecret, "Namespace and name, as in convoy-system/convoy-ca, of the Secret of the host with the certificate authority of the installation, which is filled in and renewed there. With it, the serving certificate is made here and client certificates of that authority are demanded, instead of --tls-cert-file and --client-ca-file.")
}

// Validate returns what is wrong.
func (o *Serving) Validate() []error {
	var errs []error
	if o.ImpersonateUser && o.ClientCAFile == "" && o.CertificateSecret == "" {
		errs = append(errs, errors.New("--impersonate-user-on-target needs --client-ca-file or --certificate-secret: without client certificates nobody can be believed who asks"))
	}
	if (o.TLSCertFile == "") != (o.TLSKeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file are given together or not at all"))
	}
	if o.ClientCAFile != "" && o.TLSCertFile == "" {
		errs = append(errs, errors.New("--client-ca-file needs --tls-cert-file: client certificates come with TLS only"))
	}
	if len(o.AllowedClientNames) > 0 && o.ClientCAFile == "" && o.CertificateSecret == "" {
		errs = append(errs, errors.New("--allowed-client-names needs --client-ca-file or --certificate-secret"))
	}
	return append(errs, o.validateSecret()...)
}

// validateSecret checks --certificate-secret, and that it replaces the files.
func (o *Serving) validateSecret() []error {
	if o.CertificateSecret == "" {
		return nil
	}
	var errs []error
	if _, err := certificate.ParseSecret(o.CertificateSecret); err != nil {
		errs = append(errs, fmt.Errorf("--certificate-secret: %w", err))
	}
	for _, file := range []struct{ flag, value string }{
		{"--tls-cert-file", o.TLSCertFile}, {"--tls-private-key-file", o.TLSKeyFile}, {"--client-ca-file", o.ClientCAFile},
	} {
		if file.value != "" {
			errs = append(errs, fmt.Errorf("--certificate-secret and %s exclude each other: certificates are either made here or read from files", file.flag))
		}
	}
	return errs
}

// Content says how sources are fetched and rendered, and past renders read.
type Content struct {
	CacheBytes int64
	// Limits bound each artifact, Rendering each render.
	Limits    fetch.Limits
	Rendering render.Limits
	// RenderWorkers runs engines in processes of their own.
	RenderWorkers    bool
	AllowFileSources bool
	RenderStoreURL   string
	IdentityFiles    []string
}

// AddFlags adds the flags to fs.
func (o *Content) AddFlags(fs *pflag.FlagSet) {
	fs.Int64Var(&o.CacheBytes, "artifact-cache-bytes", o.CacheBytes, "How many bytes of fetched content are held in memory. What is being fetched may take as much again, and one artifact beyond.")
	fs.BoolVar(&o.AllowFileSources, "allow-file-sources", o.AllowFileSources, "Allow file:// URLs in GitRepositories. They read the file system of this process.")
	fetchflags.AddLimits(fs, &o.Limits)
	renderflags.AddLimits(fs, &o.Rendering)
	renderflags.AddWorkers(fs, &o.RenderWorkers)
	fs.StringVar(&o.RenderStoreURL, "render-store-url", o.RenderStoreURL, "Where the controller-manager stores renders, as a URL (s3://bucket/prefix, gs://…, azblob://…, file:///path). It is only read. Empty: past renders are made again.")
	fs.StringSliceVar(&o.IdentityFiles, "render-store-identity-file", o.IdentityFiles, "Files with age identities that decrypt stored renders.")
}

// Validate returns what is wrong.
func (o *Content) Validate() []error {
	var errs []error
	if o.CacheBytes <= 0 {
		errs = append(errs, fmt.Errorf("--artifact-cache-bytes: %d is not above 0", o.CacheBytes))
	}
	if len(o.IdentityFiles) > 0 && o.RenderStoreURL == "" {
		errs = append(errs, errors.New("--render-store-identity-file needs --render-store-url"))
	}
	errs = append(errs, fetchflags.ValidateLimits(o.Limits)...)
	return append(errs, renderflags.ValidateLimits(o.Rendering)...)
}

// RenderLimits are the limits of each render, for which archives in charts are archives like
// those that are fetched.
func (o *Content) RenderLimits() render.Limits {
	limits := o.Rendering
	limits.Ratio = o.Limits.Ratio
	return limits
}
