// SPDX-License-Identifier: Apache-2.0

package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// unpack reads a bundle: contents by name.
func unpack(t *testing.T, data []byte) map[string]string {
	t.Helper()
	g := NewWithT(t)
	zip, err := gzip.NewReader(bytes.NewReader(data))
	g.Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		g.Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(archive)
		g.Expect(err).NotTo(HaveOccurred())
		name, ok := strings.CutPrefix(header.Name, "convoy-dump/")
		g.Expect(ok).To(BeTrue(), header.Name)
		files[name] = string(content)
	}
}

// plantedSecret is the secret that stands wherever one can.
const plantedSecret = "hunter2"

// plant puts secrets everywhere where people and convoy may have left some.
func plant(t *testing.T) *host {
	t.Helper()
	h := wellHost(t)
	encoded := base64.StdEncoding.EncodeToString([]byte(plantedSecret))
	h.objects[coreAPI+"releases"] = func(req *http.Request) any {
		if strings.Contains(req.Header.Get("Accept"), "PartialObjectMetadataList") {
			return listOf(t, "PartialObjectMetadataList")
		}
		return listOf(t, "ReleaseList", `{"apiVersion":"core.convoy.kumodo.io/v1alpha1","kind":"Release",
		"metadata":{"namespace":"shop","name":"web","managedFields":[{"manager":"hunter2"}],"annotations":{
			"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"x\":\"hunter2\"}}","example.com/api-token":"hunter2","example.com/team":"shop"}},
		"spec":{"clusterRef":{"name":"edge"},"source":{"helm":{"registryRef":{"name":"charts"},"chart":"web"}},
			"render":{"helm":{"valuesFrom":[{"kind":"Secret","name":"web-values"}],"values":{
				"db":{"password":"hunter2","host":"db.example.com"},"credentials":{"user":"hunter2"},"url":"postgres://app:hunter2@db/web","env":[{"name":"STRIPE_API_KEY","value":"hunter2"}],
				"raw":"apiVersion: v1\nkind: Secret\nstringData:\n  a: hunter2\n","kubeconfig":"apiVersion: v1\nusers:\n- user: {token: hunter2}\n","pem":"-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----"}}},
			"mutations":[{"type":"json","patch":"[{\"op\":\"add\",\"path\":\"/data/a\",\"value\":\"hunter2\"}]"},{"type":"strategic","patch":"data:\n  PASSWORD: hunter2\n"}],
			"lifecycle":{"hooks":[{"name":"h","on":"preSync","template":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"`+encoded+`"}}}]}},
		"status":{"conditions":[{"type":"Ready","status":"False","reason":"FetchFailed","message":"cloning https://me:hunter2@git.example.com/x failed: Authorization: Bearer hunter2hunter2"}]}}`)
	}
	h.objects[coreAPI+"clusters"] = listOf(t, "ClusterList", `{"apiVersion":"core.convoy.kumodo.io/v1alpha1","kind":"Cluster","metadata":{"namespace":"shop","name":"edge"},
		"spec":{"agentless":{"proxyURL":"http://me:hunter2@proxy:3128","auth":{"type":"kubeconfig","kubeconfig":{"secretRef":{"name":"edge-kubeconfig","key":"kubeconfig"}}}}},
		"status":{"server":"https://me:hunter2@edge","conditions":[{"type":"Ready","status":"False","reason":"X","message":"token=hunter2"}]}}`)
	h.objects["/apis/source.convoy.kumodo.io/v1alpha1/gitrepositories"] = listOf(t, "GitRepositoryList",
		`{"apiVersion":"source.convoy.kumodo.io/v1alpha1","kind":"GitRepository","metadata":{"namespace":"shop","name":"apps"},"spec":{"url":"https://hunter2@git.example.com/apps","secretRef":{"name":"git-credentials"}}}`)
	h.objects["/api/v1/events"] = listOf(t, "EventList", `{"apiVersion":"v1","kind":"Event","metadata":{"namespace":"shop","name":"e"},"message":"{\"password\": \"hunter2\"} is wrong"}`)
	h.set(t, system+"deployments", func(o map[string]any) {
		firstOf(o)["metadata"].(map[string]any)["annotations"] = map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}
	})
	h.objects["/api/v1/namespaces/convoy-system/pods"] = listOf(t, "PodList", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"api-1","namespace":"convoy-system"},
		"spec":{"containers":[{"name":"api","args":["--etcd-servers=https://me:hunter2@etcd:2379","--token=hunter2"],"env":[{"name":"AWS_SECRET_ACCESS_KEY","value":"hunter2"}]}],
			"volumes":[{"name":"etcd","secret":{"secretName":"convoy-etcd"}}]},"status":{"containerStatuses":[{"name":"api","restartCount":1}]}}`)
	h.objects["/api/v1/namespaces/convoy-system/pods/api-1/log"] = "I0301 fetch url=\"https://me:hunter2@git/x\"\nkey:\n-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\nI0301 done\n"
	for _, name := range []string{"convoy-ca", "convoy-etcd"} {
		h.objects["/api/v1/namespaces/convoy-system/secrets/"+name] = object(t, `{"data":{"tls.crt":"`+certificateUntil(t, time.Now().Add(200*24*time.Hour))+`","tls.key":"`+encoded+`"}}`)
	}
	h.objects["/api/v1/namespaces/shop/secrets"] = listOf(t, "SecretList", `{"data":{"a":"`+encoded+`"}}`)
	return h
}

func TestDumpHasNoSecrets(t *testing.T) {
	g := NewWithT(t)
	h := plant(t)
	file := filepath.Join(t.TempDir(), "dump.tar.gz")
	code, out, errOut := h.run(t, "dump", "-f", file)
	g.Expect(code).To(Equal(0), errOut)
	g.Expect(out).To(Equal(file + " written: 3 of convoy's objects, without Secrets. Have a look at it before you hand it to others.\n"))
	for _, asked := range h.asked {
		g.Expect(asked).NotTo(Or(ContainSubstring("/secrets"), ContainSubstring("/configmaps")))
	}
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	files := unpack(t, data)
	for name, content := range files {
		for _, secret := range []string{plantedSecret, base64.StdEncoding.EncodeToString([]byte(plantedSecret))} {
			g.Expect(content).NotTo(ContainSubstring(secret), name)
		}
	}
	// What is no secret is there.
	release := files["objects/releases/shop/web.yaml"]
	for _, kept := range []string{"host: db.example.com", "name: web-values", "example.com/team: shop", "STRIPE_API_KEY", "cloning https://(masked)@git.example.com/x failed", "path: /data/a"} {
		g.Expect(release).To(ContainSubstring(kept))
	}
	g.Expect(files["objects/clusters/shop/edge.yaml"]).To(And(ContainSubstring("name: edge-kubeconfig"), ContainSubstring("@proxy:3128")))
	g.Expect(files["objects/gitrepositories/shop/apps.yaml"]).To(ContainSubstring("name: git-credentials"))
	g.Expect(files["system/pods.yaml"]).To(ContainSubstring("secretName: convoy-etcd"))
	g.Expect(files["logs/api-1/api.log"]).To(Equal("I0301 fetch url=\"https://(masked)@git/x\"\nkey:\n(masked)\nI0301 done\n"))
	g.Expect(files).To(HaveKey("logs/api-1/api-previous.log"))
	g.Expect(files["check.txt"]).To(ContainSubstring("✔ the host is Kubernetes v1.37.2"))
	g.Expect(files["shards.txt"]).To(ContainSubstring("CONTROLLER-MANAGER"))
	g.Expect(files["version.txt"]).To(ContainSubstring("Host cluster: v1.37.2"))
	g.Expect(files["events/releases.yaml"]).To(ContainSubstring("name: e"))
	g.Expect(files["system/leases.yaml"]).To(ContainSubstring("convoy-cm-0"))
}

func TestDumpNotesWhatItMayNotRead(t *testing.T) {
	g := NewWithT(t)
	h := plant(t)
	h.forbidden = []string{"/api/v1/namespaces/convoy-system", "/apis/source"}
	code, out, errOut := h.run(t, "dump", "--logs=false", "-f", "-")
	g.Expect(code).To(Equal(0))
	files := unpack(t, []byte(out))
	g.Expect(files["errors.txt"]).To(And(ContainSubstring("gitrepositories.source.convoy.kumodo.io: you may not\n"), ContainSubstring("pods: you may not\n")))
	g.Expect(errOut).To(ContainSubstring("Warning: not collected: pods: you may not\n"))
	g.Expect(files).To(HaveKey("objects/clusters/shop/edge.yaml"))
	g.Expect(h.asked).To(ContainElement("GET /apis/source.convoy.kumodo.io/v1alpha1/namespaces/shop/gitrepositories?limit=500"), "those that may be read")
}

func TestDumpThatFails(t *testing.T) {
	g := NewWithT(t)
	h := plant(t)
	file := filepath.Join(t.TempDir(), "dump.tar.gz")
	g.Expect(os.WriteFile(file, []byte("mine"), 0o600)).To(Succeed())
	code, _, errOut := h.run(t, "dump", "-f", file)
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(ContainSubstring("file exists"))
	g.Expect(os.ReadFile(file)).To(Equal([]byte("mine")))

	h.forbidden = []string{"/version"}
	missing := filepath.Join(t.TempDir(), "dump.tar.gz")
	code, _, errOut = h.run(t, "dump", "-f", missing)
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(ContainSubstring("version of the host cluster: you may not"))
	g.Expect(missing).NotTo(BeAnExistingFile())

	code, _, errOut = h.run(t, "dump", "--since", "-1h", "-f", missing)
	g.Expect(code).To(Equal(1))
	g.Expect(errOut).To(Equal("error: --since must not be negative\n"))
}
