// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/util/compatibility"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"kumodo.io/convoy/apiserver/internal/proxy"
	"kumodo.io/convoy/apiserver/internal/scheme"
)

// nowhere leads to no storage.
type nowhere struct{}

func (nowhere) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	return generic.RESTOptions{
		StorageConfig:  &storagebackend.ConfigForResource{Config: storagebackend.Config{EncodeVersioner: scheme.GroupVersions()}},
		ResourcePrefix: resource.Group + "/" + resource.Resource,
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object,
			func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers,
		) (storage.Interface, factory.DestroyFunc, error) {
			return nil, func() {}, nil
		},
	}, nil
}

// newHandler builds a server without storage, host and listener: enough for what it says
// about itself.
func newHandler(t *testing.T) http.Handler {
	t.Helper()
	g := NewWithT(t)
	config, err := NewConfig()
	g.Expect(err).NotTo(HaveOccurred())
	config.Generic.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.Generic.LoopbackClientConfig = &restclient.Config{}
	config.Generic.ExternalAddress = "127.0.0.1:443"
	config.Generic.RESTOptionsGetter = nowhere{}
	config.Version, config.Shards = "v0.0.0-test", 3
	config.Observer, err = proxy.New(proxy.Config{})
	g.Expect(err).NotTo(HaveOccurred())
	server, err := config.Complete().New()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(server.generic.Destroy)
	return serve(server.generic)
}

func serve(s *genericapiserver.GenericAPIServer) http.Handler {
	s.PrepareRun()
	return s.Handler
}

func get(t *testing.T, handler http.Handler, path string, into any) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	g := NewWithT(t)
	g.Expect(recorder.Code).To(Equal(http.StatusOK), recorder.Body.String())
	g.Expect(json.Unmarshal(recorder.Body.Bytes(), into)).To(Succeed())
}

func TestDiscovery(t *testing.T) {
	handler := newHandler(t)
	all := "create,delete,deletecollection,get,list,patch,update,watch"
	part := "get,patch,update"
	for _, test := range []struct {
		group string
		want  map[string]string // verbs by resource
		names map[string]string // singular and short names by resource
	}{
		{
			group: "core.convoy.kumodo.io",
			want: map[string]string{
				"clusters": all, "clusters/status": part,
				"releases": all, "releases/status": part, "releases/pin": part, "releases/mutations": part, "releases/lifecycle": part,
				"releases/sync": "create", "releases/preview": "get", "releases/diff": "get", "releases/health": "get", "releases/history": "get",
				"releases/values":    "get",
				"releaseinventories": all, "releaseinventories/status": part,
			},
			names: map[string]string{"clusters": "cluster ccl", "releases": "release rel", "releaseinventories": "releaseinventory relinv"},
		},
		{
			group: "source.convoy.kumodo.io",
			want: map[string]string{
				"gitrepositories": all, "gitrepositories/status": part, "helmregistries": all, "helmregistries/status": part,
				"ociregistries": all, "ociregistries/status": part,
			},
			names: map[string]string{"gitrepositories": "gitrepository cgit", "helmregistries": "helmregistry chelm", "ociregistries": "ociregistry coci"},
		},
		{
			group: "extensions.convoy.kumodo.io",
			want:  map[string]string{"healthrulesets": all, "healthrulesets/status": part, "globalhealthrulesets": all, "globalhealthrulesets/status": part},
			names: map[string]string{"healthrulesets": "healthruleset chrs", "globalhealthrulesets": "globalhealthruleset cghrs"},
		},
	} {
		t.Run(test.group, func(t *testing.T) {
			g := NewWithT(t)
			list := metav1.APIResourceList{}
			get(t, handler, "/apis/"+test.group+"/v1alpha1", &list)
			verbs, names := map[string]string{}, map[string]string{}
			for _, r := range list.APIResources {
				verbs[r.Name] = strings.Join(r.Verbs, ",")
				g.Expect(r.Namespaced).To(Equal(!strings.HasPrefix(r.Name, "global")), r.Name)
				if !strings.Contains(r.Name, "/") {
					names[r.Name] = r.SingularName + " " + strings.Join(r.ShortNames, " ")
					g.Expect(r.Categories).To(Equal([]string{"convoy"}), r.Name)
					g.Expect(r.StorageVersionHash).NotTo(BeEmpty(), r.Name+": the version that is written is told")
				}
			}
			g.Expect(verbs).To(Equal(test.want))
			g.Expect(names).To(Equal(test.names))
		})
	}
}

// kubectl apply, explain and diff, and server-side apply, need these.
func TestOpenAPI(t *testing.T) {
	handler := newHandler(t)
	for group, kinds := range map[string][]string{
		"core":       {"Cluster", "Release", "ReleaseInventory", "ReleasePreview", "ReleaseDiff", "ReleaseHealth", "ReleaseHistory", "ReleaseValues"},
		"source":     {"GitRepository", "HelmRegistry", "OCIRegistry"},
		"extensions": {"HealthRuleSet", "GlobalHealthRuleSet"},
	} {
		t.Run(group, func(t *testing.T) {
			g := NewWithT(t)
			var document struct {
				Components struct {
					Schemas map[string]struct {
						GVKs []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
					}
				}
				Info struct{ Title, Version string }
			}
			get(t, handler, "/openapi/v3/apis/"+group+".convoy.kumodo.io/v1alpha1", &document)
			g.Expect(document.Info.Version).To(Equal("v0.0.0-test"))
			for _, kind := range kinds {
				schema, ok := document.Components.Schemas["io.kumodo.convoy."+group+".v1alpha1."+kind]
				g.Expect(ok).To(BeTrue(), kind)
				g.Expect(schema.GVKs).To(ConsistOf(metav1.GroupVersionKind{Group: group + ".convoy.kumodo.io", Version: "v1alpha1", Kind: kind}))
			}
		})
	}
}

// What subresources are asked with is explained, as the fields of objects are.
func TestParametersOfSubresourcesHaveTexts(t *testing.T) {
	g := NewWithT(t)
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	get(t, newHandler(t), "/openapi/v3/apis/core.convoy.kumodo.io/v1alpha1", &document)
	release := "/apis/core.convoy.kumodo.io/v1alpha1/namespaces/{namespace}/releases/{name}/"
	for subresource, want := range map[string][]string{"sync": {"force", "dryRun"}, "preview": {"revision"}, "diff": {"from", "to"}, "history": {"id"}, "values": {"revision"}} {
		var parameters []struct{ In, Name, Description string }
		for _, of := range document.Paths[release+subresource] {
			var list []struct{ In, Name, Description string }
			var operation struct {
				Parameters []struct{ In, Name, Description string }
			}
			if json.Unmarshal(of, &list) == nil {
				parameters = append(parameters, list...)
			} else if json.Unmarshal(of, &operation) == nil {
				parameters = append(parameters, operation.Parameters...)
			}
		}
		var explained []string
		for _, parameter := range parameters {
			if parameter.In == "query" && parameter.Description != "" {
				explained = append(explained, parameter.Name)
			}
		}
		g.Expect(explained).To(ContainElements(want), subresource)
	}
}

func TestProtobufIsNotOffered(t *testing.T) {
	g := NewWithT(t)
	config, err := NewConfig()
	g.Expect(err).NotTo(HaveOccurred())
	offered := map[string]bool{}
	for _, info := range config.Generic.Serializer.SupportedMediaTypes() {
		offered[info.MediaType] = true
	}
	g.Expect(offered).To(HaveKey(runtime.ContentTypeJSON))
	g.Expect(offered).NotTo(HaveKey(runtime.ContentTypeProtobuf))

	handler := newHandler(t)
	for _, test := range []struct {
		accept, want string
		code         int
	}{
		{"application/vnd.kubernetes.protobuf,application/json", "application/json", http.StatusOK},
		{"application/vnd.kubernetes.protobuf", "application/json", http.StatusNotAcceptable},
	} {
		recorder, request := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/apis/core.convoy.kumodo.io/v1alpha1", nil)
		request.Header.Set("Accept", test.accept)
		handler.ServeHTTP(recorder, request)
		g.Expect(recorder.Code).To(Equal(test.code))
		g.Expect(recorder.Header().Get("Content-Type")).To(HavePrefix(test.want))
	}
}
