// SPDX-License-Identifier: Apache-2.0

// Package server assembles convoy-apiserver: Config, Complete, New, Run. It serves the kinds
// of convoy from etcd behind the aggregation layer of a host cluster, and acts on nothing.
package server

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"kumodo.io/convoy/apiserver/internal/generated/openapi"
	"kumodo.io/convoy/apiserver/internal/proxy"
	"kumodo.io/convoy/apiserver/internal/registry/release"
	"kumodo.io/convoy/apiserver/internal/registry/resource"
	"kumodo.io/convoy/apiserver/internal/relabel"
	"kumodo.io/convoy/apiserver/internal/scheme"
	"kumodo.io/convoy/apiserver/internal/shardlabel"
)

const (
	name = "convoy-apiserver"
	// title heads the OpenAPI documents.
	title = "convoy"
)

// Config is what a server is built from.
type Config struct {
	// Generic is the library's part: serving, etcd, authentication, admission.
	Generic *genericapiserver.RecommendedConfig
	// Observer answers five subresources of Releases.
	Observer *proxy.Proxy
	// Shards is the number of shards among which the controllers divide objects.
	Shards int
	// Version of the binary, for logs and metrics.
	Version string

	scheme *runtime.Scheme
	codecs serializer.CodecFactory
}

// NewConfig gives a Config with a generic part that knows the API types. The caller sets the
// rest, and applies options to the generic part.
func NewConfig() (*Config, error) {
	types, err := scheme.New()
	if err != nil {
		return nil, err
	}
	names, err := scheme.ForNames()
	if err != nil {
		return nil, err
	}
	config := &Config{scheme: types, codecs: serializer.NewCodecFactory(types)}
	generic := genericapiserver.NewRecommendedConfig(config.codecs)
	generic.Serializer = noProtobuf{config.codecs}
	namer := openapinamer.NewDefinitionNamer(names)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIConfig.Info.Title = title
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIV3Config.Info.Title = title
	generic.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return withTextPath(genericapiserver.DefaultBuildHandlerChain(release.WithSyncDryRun(handler), c), c.Serializer)
	}
	config.Generic = generic
	return config, nil
}

// Codec encodes objects for storage.
func Codec() (runtime.Codec, error) {
	types, err := scheme.New()
	if err != nil {
		return nil, err
	}
	return serializer.NewCodecFactory(types).LegacyCodec(scheme.GroupVersions()...), nil
}

// CompletedConfig is a Config that lacks nothing.
type CompletedConfig struct {
	config  *Config
	generic genericapiserver.CompletedConfig
}

// Complete fills in what can be derived.
func (c *Config) Complete() CompletedConfig {
	c.Generic.OpenAPIConfig.Info.Version = c.Version
	c.Generic.OpenAPIV3Config.Info.Version = c.Version
	return CompletedConfig{config: c, generic: c.Generic.Complete()}
}

// Server is a convoy-apiserver.
type Server struct {
	generic *genericapiserver.GenericAPIServer
	config  *Config
}

// New builds the server. It connects to etcd lazily.
func (c CompletedConfig) New() (*Server, error) {
	generic, err := c.generic.New(name, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("building the generic server: %w", err)
	}
	// The library tells of storages that are not ready only when asked to.
	if err := generic.AddPostStartHook("storage-readiness", generic.StorageReadinessHook.Hook); err != nil {
		return nil, fmt.Errorf("adding a hook: %w", err)
	}
	infos, err := groups(resource.Backend{
		Scheme:      c.config.scheme,
		RESTOptions: c.generic.RESTOptionsGetter,
		Clock:       clock.RealClock{},
	}, c.config.codecs, shardlabel.New(c.config.Shards), c.config.Observer)
	if err != nil {
		return nil, err
	}
	boundLabels(infos)
	if err := generic.InstallAPIGroups(infos...); err != nil {
		return nil, fmt.Errorf("installing API groups: %w", err)
	}
	labelled := labelledStorages(infos)
	err = generic.AddPostStartHook("shard-labels", func(hook genericapiserver.PostStartHookContext) error {
		go relabel.Run(hook, labelled, func(n int) { relabelled.Add(float64(n)) })
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("adding a hook: %w", err)
	}
	publish(c.config.Version, c.config.Shards)
	return &Server{generic: generic, config: c.config}, nil
}

// Run serves until the context ends, and then drains.
func (s *Server) Run(ctx context.Context) error {
	klog.FromContext(ctx).Info("Starting", "server", name, "version", s.config.Version, "shards", s.config.Shards)
	return s.generic.PrepareRun().RunWithContext(ctx)
}
