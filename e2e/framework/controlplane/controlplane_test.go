// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

func TestStartWithoutBinaries(t *testing.T) {
	g := NewWithT(t)
	var log strings.Builder
	_, err := Start(t.Context(), Options{Name: "host", Dir: t.TempDir(), Assets: t.TempDir(), Log: &log})
	g.Expect(err).To(MatchError(fs.ErrNotExist))
	g.Expect(err).To(MatchError(ContainSubstring("start cluster host: start etcd")))
	g.Expect(log.String()).To(Equal("host: starting etcd\n"))
}

func TestStartRefusesTheFolderOfAnotherCluster(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.Mkdir(filepath.Join(dir, "etcd-data"), 0o700)).To(Succeed())
	_, err := Start(t.Context(), Options{Dir: dir, Assets: t.TempDir()})
	g.Expect(err).To(MatchError(ContainSubstring("holds a cluster already")))
}

func TestKubeconfigFor(t *testing.T) {
	g := NewWithT(t)
	c := &ControlPlane{options: Options{Name: "target", Dir: t.TempDir()}}
	g.Expect(c.prepare()).To(Succeed())
	path, err := c.KubeconfigFor("alice", "devs")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range []string{path, c.AdminKubeconfig(), c.kubeconfig(ControllerManager), c.kubeconfig(Scheduler)} {
		config, err := clientcmd.BuildConfigFromFlags("", file)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.Host).To(Equal(c.URL()))
		g.Expect(config.CAData).To(Equal(c.CA().Bundle()))
		g.Expect(config.CertData).NotTo(BeEmpty())
	}
	raw, err := clientcmd.LoadFromFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(raw.CurrentContext).To(Equal("target"))
}

func TestStagesAreOneFile(t *testing.T) {
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "stages.yaml")
	g.Expect(writeStages(path)).To(Succeed())
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, document := range strings.Split(string(content), "---\n")[1:] {
		var stage struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		g.Expect(yaml.Unmarshal([]byte(document), &stage)).To(Succeed())
		g.Expect(stage.APIVersion + " " + stage.Kind).To(Equal("kwok.x-k8s.io/v1alpha1 Stage"))
		names = append(names, stage.Metadata.Name)
	}
	g.Expect(names).To(ConsistOf("node-ready", "node-heartbeat", "pod-run", "pod-ready", "pod-complete", "pod-fail", "pod-crash", "pod-delete"))
}

func TestAssets(t *testing.T) {
	for _, test := range []struct {
		name, script, want string
	}{
		{name: "the last line is the folder", script: "echo building >&2; echo something; echo /cache/v1", want: "/cache/v1"},
		{name: "nothing said", script: ":"},
		{name: "no folder", script: "echo done"},
		{name: "failed", script: "echo /cache/v1; exit 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			script := filepath.Join(t.TempDir(), "build.sh")
			g.Expect(os.WriteFile(script, []byte("#!/bin/sh\n"+test.script+"\n"), 0o700)).To(Succeed())
			got, err := Assets(t.Context(), script, t.Output())
			g.Expect(got).To(Equal(test.want))
			g.Expect(err != nil).To(Equal(test.want == ""))
		})
	}
}

func TestKubectlOfTheAssetsGoesFirst(t *testing.T) {
	g := NewWithT(t)
	assets := t.TempDir()
	built := filepath.Join(assets, "kubectl")
	g.Expect(os.WriteFile(built, []byte("#!/bin/sh\n"), 0o700)).To(Succeed())
	g.Expect(Kubectl(assets)).To(Equal(built))
	t.Setenv("PATH", t.TempDir())
	_, err := Kubectl(t.TempDir())
	g.Expect(err).To(HaveOccurred())
}
