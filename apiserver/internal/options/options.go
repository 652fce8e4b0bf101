// SPDX-License-Identifier: Apache-2.0

// Package options is the flags of convoy-apiserver: those of the API server library, and
// convoy's own few.
package options

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"

	"kumodo.io/convoy/apiserver/internal/certificates"
	"kumodo.io/convoy/apiserver/internal/frontproxy"
	"kumodo.io/convoy/apiserver/internal/registry/release"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/apiserver/internal/server"
)

const (
	// etcdPrefix is under what all objects are stored.
	etcdPrefix = "/registry/convoy.kumodo.io"

	// watchTermination is how long open watches are drained at the end. Were it 0, the
	// library would wait a minute for them instead.
	watchTermination = 10 * time.Second

	// namespace in which the server is unless something says otherwise.
	namespace = "convoy-system"
)

// Options are all flags, by group.
type Options struct {
	Sharding    Sharding
	Observer    Observer
	Certificate Certificate
	Trust       Trust
	Server      *genericoptions.ServerRunOptions
	Recommended *genericoptions.RecommendedOptions
	Logging     *logsapi.LoggingConfiguration
}

// New gives the defaults. The registry holds effective versions and feature gates; it can
// be set from flags once, so that tests with several servers give each its own.
func New(registry basecompatibility.ComponentGlobalsRegistry) (*Options, error) {
	codec, err := server.Codec()
	if err != nil {
		return nil, err
	}
	o := &Options{
		Sharding:    Sharding{Shards: 1},
		Observer:    Observer{URL: defaultObserverURL},
		Trust:       Trust{HostAuthorization: true},
		Server:      genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, registry),
		Recommended: genericoptions.NewRecommendedOptions(etcdPrefix, codec),
		Logging:     logsapi.NewLoggingConfiguration(),
	}
	o.Server.ShutdownWatchTerminationGracePeriod = watchTermination
	o.Recommended.FeatureGate = registry.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	o.Recommended.Etcd.StorageConfig.EncodeVersioner = scheme.GroupVersions()
	// Off unless asked for: it needs rights on the host that few give, and without them no
	// write succeeds.
	o.Recommended.Admission.DefaultOffPlugins.Insert(mutating.PluginName)
	return o, nil
}

// Flags gives all flags in sections, as --help shows them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	convoy := sections.FlagSet("convoy")
	o.Sharding.AddFlags(convoy)
	o.Observer.AddFlags(convoy)
	o.Certificate.AddFlags(convoy)
	o.Trust.AddFlags(convoy)
	o.Server.AddUniversalFlags(sections.FlagSet("generic"))
	o.Recommended.Etcd.AddFlags(sections.FlagSet("etcd"))
	o.Recommended.SecureServing.AddFlags(sections.FlagSet("secure serving"))
	o.Recommended.Authentication.AddFlags(sections.FlagSet("authentication"))
	o.Recommended.Authorization.AddFlags(sections.FlagSet("authorization"))
	o.Recommended.Audit.AddFlags(sections.FlagSet("auditing"))
	o.Recommended.Features.AddFlags(sections.FlagSet("features"))
	o.Recommended.CoreAPI.AddFlags(sections.FlagSet("host cluster"))
	o.Recommended.Admission.AddFlags(sections.FlagSet("admission"))
	o.Recommended.EgressSelector.AddFlags(sections.FlagSet("egress selector"))
	o.Recommended.Traces.AddFlags(sections.FlagSet("traces"))
	logsapi.AddFlags(o.Logging, sections.FlagSet("logs"))
	return sections
}

// Complete fills in what depends on other flags.
func (o *Options) Complete() error {
	if err := o.Server.Complete(); err != nil {
		return fmt.Errorf("completing versions and feature gates: %w", err)
	}
	o.Observer.complete(o.Server.RequestTimeout)
	return nil
}

// Validate checks all flags and reports all faults.
func (o *Options) Validate() error {
	errs := o.Sharding.Validate()
	errs = append(errs, o.Observer.Validate()...)
	errs = append(errs, o.Certificate.Validate(o.Recommended.SecureServing.ServerCert.CertKey, o.Logging)...)
	errs = append(errs, o.Server.Validate()...)
	errs = append(errs, o.Recommended.Validate()...)
	return errors.Join(errs...)
}

// checkHost reports the flags without which a process outside of the host's pods cannot know
// where the host is.
func (o *Options) checkHost() error {
	if _, err := rest.InClusterConfig(); !errors.Is(err, rest.ErrNotInCluster) {
		return nil
	}
	var missing []string
	for _, flag := range []struct{ name, value string }{
		{"--kubeconfig", o.Recommended.CoreAPI.CoreAPIKubeconfigPath},
		{"--authentication-kubeconfig", o.Recommended.Authentication.RemoteKubeConfigFile},
		{"--authorization-kubeconfig", o.Recommended.Authorization.RemoteKubeConfigFile},
	} {
		if flag.value == "" {
			missing = append(missing, flag.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("outside of a pod of the host, %s must be given: kubeconfigs that lead to the host; one file will do for all", strings.Join(missing, ", "))
}

// Config gives the configuration of a server. Complete must have been called.
func (o *Options) Config(version string) (*server.Config, error) {
	if err := o.checkHost(); err != nil {
		return nil, err
	}
	config, err := server.NewConfig()
	if err != nil {
		return nil, err
	}
	// Effective version and feature gates first: the other options build on them.
	if err := o.Server.ApplyTo(&config.Generic.Config); err != nil {
		return nil, fmt.Errorf("applying server options: %w", err)
	}
	if !o.Certificate.enabled() {
		names := []string{certificates.ServiceName(namespace)}
		if err := o.Recommended.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", names, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
			return nil, fmt.Errorf("making a self-signed certificate: %w", err)
		}
	}
	serving, err := o.Certificate.serve(o.Recommended.SecureServing)
	if err != nil {
		return nil, err
	}
	if err := o.Recommended.ApplyTo(config.Generic); err != nil {
		return nil, fmt.Errorf("applying options: %w", err)
	}
	config.Generic.AdmissionControl = release.AdmitSyncDryRun(config.Generic.AdmissionControl)
	if o.Trust.HostAuthorization {
		frontproxy.Trust(&config.Generic.Config)
	}
	if err := o.awaitTrust(config.Generic); err != nil {
		return nil, fmt.Errorf("configuring trust in the host: %w", err)
	}
	own, err := o.Certificate.keep(config.Generic, serving)
	if err != nil {
		return nil, fmt.Errorf("configuring certificates: %w", err)
	}
	if config.Observer, err = o.Observer.proxy(own); err != nil {
		return nil, fmt.Errorf("configuring the way to the observer: %w", err)
	}
	config.Shards = o.Sharding.Shards
	config.Version = version
	return config, nil
}
