// SPDX-License-Identifier: Apache-2.0

// Package certificates tests an installation that makes its certificates itself, as the
// shipped manifests have it.
package certificates

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	corev1alpha1 "kumodo.io/convoy/api/core/v1alpha1"
	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/client/clientset/versioned"
	"kumodo.io/convoy/e2e/framework/build"
	"kumodo.io/convoy/e2e/framework/controlplane"
	"kumodo.io/convoy/e2e/framework/gitserver"
	"kumodo.io/convoy/e2e/framework/installation"
)

const (
	system    = installation.Namespace
	namespace = "default" // of the Release
	release   = "app"
)

// suite is a host with convoy-apiserver and convoy-observer, and a Release that nobody
// applies: its preview leads through both.
var suite struct {
	dir      string
	host     *controlplane.ControlPlane
	convoy   *installation.Installation
	git      *gitserver.Server
	api      versioned.Interface
	kube     kubernetes.Interface
	services dynamic.NamespaceableResourceInterface
	failed   bool
}

func TestCertificates(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Certificates")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	var err error
	suite.dir, err = os.MkdirTemp("", "convoy-certificates-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(end, NodeTimeout(2*time.Minute))
	start(ctx)
	connect()
	narrow(ctx)
	deliver(ctx)
}, NodeTimeout(15*time.Minute))

var _ = AfterEach(func() { suite.failed = suite.failed || CurrentSpecReport().Failed() })

// start starts the host, and convoy on an empty Secret.
func start(ctx context.Context) {
	GinkgoHelper()
	root, err := build.Root()
	Expect(err).NotTo(HaveOccurred())
	assets, err := controlplane.Assets(ctx, filepath.Join(root, "e2e", "controlplane", "build.sh"), GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	bin, err := build.Convoy(ctx, root, GinkgoWriter, installation.APIServer, installation.Observer)
	Expect(err).NotTo(HaveOccurred())
	suite.host, err = controlplane.Start(ctx, controlplane.Options{
		Name: "host", Dir: filepath.Join(suite.dir, "host"), Assets: assets, Log: GinkgoWriter,
	})
	Expect(err).NotTo(HaveOccurred())
	suite.convoy, err = installation.Start(ctx, installation.Options{
		Dir: filepath.Join(suite.dir, "convoy"), Bin: bin, Config: filepath.Join(root, "config"), Host: suite.host,
		Only: []string{installation.APIServer, installation.Observer}, OwnCertificates: true, Log: GinkgoWriter,
		Args: map[string][]string{installation.APIServer: {"--v=7"}, installation.Observer: {"--v=7"}},
	})
	Expect(err).NotTo(HaveOccurred())
}

func connect() {
	GinkgoHelper()
	config, err := suite.host.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	suite.api, err = versioned.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	suite.kube, err = kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	client, err := dynamic.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	suite.services = client.Resource(apiServices)
}

// narrow takes from the controllers the rights of an administrator, which would hide that
// others are missing, and gives them those that the Release needs.
func narrow(ctx context.Context) {
	GinkgoHelper()
	Expect(suite.kube.RbacV1().ClusterRoleBindings().Delete(ctx, "convoy-in-cluster-target", metav1.DeleteOptions{})).To(Succeed())
	_, err := suite.kube.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "convoy-observer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: installation.Observer}},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// deliver makes the Release.
func deliver(ctx context.Context) {
	GinkgoHelper()
	root := filepath.Join(suite.dir, "git")
	repository, err := gitserver.Create(ctx, root, "repo")
	Expect(err).NotTo(HaveOccurred())
	_, err = repository.Commit(ctx, gitserver.Commit{Write: map[string]string{
		"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {a: b}\n",
	}})
	Expect(err).NotTo(HaveOccurred())
	suite.git, err = gitserver.Start(gitserver.Options{Root: root, Log: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	_, err = suite.api.CoreV1alpha1().Clusters(namespace).Create(ctx, &corev1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "here"}, Spec: corev1alpha1.ClusterSpec{Mode: corev1alpha1.ClusterModeInCluster},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = suite.api.SourceV1alpha1().GitRepositories(namespace).Create(ctx, &sourcev1alpha1.GitRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "repo"}, Spec: sourcev1alpha1.GitRepositorySpec{URL: suite.git.RepositoryURL("repo")},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = suite.api.CoreV1alpha1().Releases(namespace).Create(ctx, &corev1alpha1.Release{
		ObjectMeta: metav1.ObjectMeta{Name: release},
		Spec: corev1alpha1.ReleaseSpec{
			ClusterRef: corev1alpha1.LocalReference{Name: "here"},
			Source: corev1alpha1.ReleaseSource{Git: &corev1alpha1.GitSource{
				RepositoryRef: corev1alpha1.LocalReference{Name: "repo"}, Ref: corev1alpha1.GitRef{Branch: gitserver.DefaultBranch},
			}},
		},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func end(ctx SpecContext) {
	if suite.git != nil {
		Expect(suite.git.Close(ctx)).To(Succeed())
	}
	if suite.convoy != nil {
		Expect(suite.convoy.Stop(ctx)).To(Succeed())
	}
	if suite.host != nil {
		Expect(suite.host.Stop(ctx)).To(Succeed())
	}
	if suite.failed || suite.git == nil {
		fmt.Fprintf(os.Stderr, "the logs of the failed suite are in %s\n", suite.dir)
		return
	}
	Expect(os.RemoveAll(suite.dir)).To(Succeed())
}

// authority is the Secret.
func authority(ctx context.Context) *corev1.Secret {
	GinkgoHelper()
	secret, err := suite.kube.CoreV1().Secrets(system).Get(ctx, installation.CertificateSecret, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return secret
}
