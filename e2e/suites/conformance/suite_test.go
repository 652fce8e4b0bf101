// SPDX-License-Identifier: Apache-2.0

// Package conformance holds convoy's kinds against kinds that need no proof: it does the
// same to a built-in kind, to a kind of a CustomResourceDefinition and to each of convoy's
// own, through the same kube-apiserver, and demands that what is seen is the same. Nothing
// acts on the objects but the garbage collector and the namespace controller.
package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/installation"
	"kumodo.io/convoy/e2e/framework/manifests"
)

// userAgent gives field managers their default name: what stands before the slash.
const userAgent = "conformance/1"

// suite is what all specs share.
var suite struct {
	host           *controlplane.ControlPlane
	convoy         *installation.Installation
	dir, kubectl   string
	convoyAuditLog string
	admin          *http.Client
	anonymous      *http.Client
	webSocket      *http.Client // of an administrator, over HTTP/1.1
	compacted      int64        // revisions of etcd up to this one are gone
	failed         bool
}

func TestConformance(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Conformance")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	var err error
	suite.dir, err = os.MkdirTemp("", "convoy-conformance-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(end, NodeTimeout(2*time.Minute))
	editor := "#!/bin/sh\nsed -i 's/^  labels:$/  labels:\\n    edited: \"yes\"/' \"$1\"\n"
	Expect(os.WriteFile(filepath.Join(suite.dir, "editor"), []byte(editor), 0o700)).To(Succeed())
	start(ctx)
	suite.admin, suite.anonymous, suite.webSocket = adminClient(), anonymousClient(), webSocketClient()
	awaitKinds(ctx)
	compact(ctx)
}, NodeTimeout(15*time.Minute))

var _ = AfterEach(func() { suite.failed = suite.failed || CurrentSpecReport().Failed() })

// start builds what is not built, and starts the host, the reference kinds, convoy's API
// server and, when all that is served, the controllers.
func start(ctx context.Context) {
	root, err := build.Root()
	Expect(err).NotTo(HaveOccurred())
	assets, err := controlplane.Assets(ctx, filepath.Join(root, "e2e", "controlplane", "build.sh"), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	suite.kubectl, err = controlplane.Kubectl(assets)
	Expect(err).NotTo(HaveOccurred())
	bin, err := build.Convoy(ctx, root, GinkgoWriter, installation.APIServer)
	Expect(err).NotTo(HaveOccurred())

	suite.host, err = controlplane.Start(ctx, controlplane.Options{
		Name: "host", Dir: filepath.Join(suite.dir, "host"), Assets: assets, AuditLog: true, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	config, err := suite.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	applier, err := manifests.NewApplier(config)
	Expect(err).NotTo(HaveOccurred())
	crds, err := manifests.ReadFolder("testdata")
	Expect(err).NotTo(HaveOccurred())
	Expect(applier.Apply(ctx, crds...)).To(Succeed())

	suite.convoyAuditLog = filepath.Join(suite.dir, "convoy-audit.log")
	suite.convoy, err = installation.Start(ctx, installation.Options{
		Dir: filepath.Join(suite.dir, "convoy"), Bin: bin, Config: filepath.Join(root, "config"), Host: suite.host,
		Only: []string{installation.APIServer}, Log: GinkgoWriter,
		Args: map[string][]string{installation.APIServer: {
			"--audit-policy-file=" + filepath.Join(suite.dir, "host", "audit-policy.yaml"), "--audit-log-path=" + suite.convoyAuditLog,
		}},
	})
	Expect(err).NotTo(HaveOccurred())
}

func end(ctx SpecContext) {
	if suite.host != nil {
		Expect(suite.host.StopWorkloads(ctx)).To(Succeed())
		if suite.convoy != nil {
			Expect(suite.convoy.Stop(ctx)).To(Succeed())
		}
		Expect(suite.host.Stop(ctx)).To(Succeed())
	}
	if suite.failed || suite.host == nil {
		fmt.Fprintf(os.Stderr, "the logs of the failed suite are in %s\n", suite.dir)
		return
	}
	Expect(os.RemoveAll(suite.dir)).To(Succeed())
}

// adminClient gives a client of an administrator. It shows answers as they come: nothing is
// decompressed.
func adminClient() *http.Client {
	GinkgoHelper()
	config, err := suite.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	return clientOf(config)
}

// anonymousClient gives a client that trusts the servers and shows nothing of itself.
func anonymousClient() *http.Client {
	GinkgoHelper()
	config, err := suite.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	return clientOf(rest.AnonymousClientConfig(config))
}

// webSocketClient gives a client of an administrator that speaks HTTP/1.1, over which
// another protocol can be switched to.
func webSocketClient() *http.Client {
	GinkgoHelper()
	config, err := suite.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	config.NextProtos = []string{"http/1.1"}
	return clientOf(config)
}

func clientOf(config *rest.Config) *http.Client {
	GinkgoHelper()
	config.UserAgent, config.DisableCompression = userAgent, true
	client, err := rest.HTTPClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	return client
}

// awaitKinds returns when every kind is served and in the discovery that the controllers
// read when they start, and starts them.
func awaitKinds(ctx context.Context) {
	GinkgoHelper()
	for _, s := range subjects {
		Eventually(ctx, func() int {
			response := send(ctx, suite.admin, request{path: "/apis/" + s.groupVersion() + "/" + s.plural})
			return response.code
		}).Should(Equal(http.StatusOK), s.kind)
	}
	Expect(suite.host.StartControllers(ctx, "namespace-controller", "garbage-collector-controller")).To(Succeed())
}

// compact drops all revisions of etcd up to now: what refers to one of these has expired,
// and nothing else is disturbed.
func compact(ctx context.Context) {
	GinkgoHelper()
	call := func(method string, body any) []byte {
		data, err := json.Marshal(body)
		Expect(err).NotTo(HaveOccurred())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, suite.host.EtcdURL()+"/v3/kv/"+method, bytes.NewReader(data))
		Expect(err).NotTo(HaveOccurred())
		response, err := http.DefaultClient.Do(request)
		Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		Expect(err).NotTo(HaveOccurred())
		Expect(response.StatusCode).To(Equal(http.StatusOK), string(answer))
		return answer
	}
	var answer struct {
		Header struct {
			Revision int64 `json:",string"`
		}
	}
	Expect(json.Unmarshal(call("range", map[string]any{"key": []byte("/")}), &answer)).To(Succeed())
	call("compaction", map[string]any{"revision": answer.Header.Revision, "physical": true})
}
