// SPDX-License-Identifier: Apache-2.0

package location

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"kumodo.io/convoy/render/store"
	"kumodo.io/convoy/render/store/internal/storetest"
)

const canary = "hunter2-canary"

func TestOpen(t *testing.T) {
	dir := filepath.ToSlash(t.TempDir())
	region := map[string]string{"AWS_REGION": "eu-central-1"}
	account := map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": "aHVudGVyMi1jYW5hcnk="}
	emulator := map[string]string{"STORAGE_EMULATOR_HOST": "127.0.0.1:1"}
	tests := []struct {
		name, url string
		env       map[string]string
		want      string
	}{
		{"memory", "mem://", nil, ""},
		{"directory", "file://" + dir + "/new", nil, ""},
		{"relative directory", "file://renders", nil, "an absolute path"},
		{"directory with a query", "file://" + dir + "?create_dir=true", nil, `the parameter "create_dir", which is not known`},
		{"S3", "s3://bucket", region, ""},
		{"S3 with a prefix", "s3://bucket/team/renders/", region, ""},
		{"S3, region in the URL", "s3://bucket?region=eu-central-1&ssetype=aws:kms&kmskeyid=k", nil, ""},
		{"S3 of others", "s3://bucket?endpoint=https://minio.example:9000&use_path_style=true", nil, ""},
		{"S3 without region", "s3://bucket", nil, "add ?region="},
		{"S3 without bucket", "s3:///prefix", region, "the name of the bucket"},
		{"S3, no such encryption", "s3://bucket?ssetype=rot13", region, "ssetype must be one of"},
		{"S3, no such style", "s3://bucket?use_path_style=x", region, "use_path_style must be true or false"},
		{"S3, endpoint with credentials", "s3://bucket?endpoint=https://key:" + canary + "@minio.example", region, "without credentials"},
		{"S3, no endpoint", "s3://bucket?endpoint=minio:9000", region, "endpoint must be https://"},
		{"credentials", "s3://key:" + canary + "@bucket", region, "holds credentials"},
		{"credentials in the query", "s3://bucket?secret_key=" + canary, region, `"secret_key", which is not known`},
		{"a parameter twice", "s3://bucket?region=a&region=b", nil, "twice"},
		{"a way out of the prefix", "s3://bucket/a/../b", region, ". or .."},
		{"Google, an emulator", "gs://bucket/prefix", emulator, ""},
		{"Google, a parameter", "gs://bucket?access_id=x", emulator, `"access_id", which is not known`},
		{"Google without bucket", "gs://", emulator, "the name of the bucket"},
		{"Google, no such key file", "gs://bucket", map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": dir + "/none"}, "none"},
		{"Azure, key in the environment", "azblob://container/prefix", account, ""},
		{"Azure, account in the URL", "azblob://container?storage_account=acct", map[string]string{"AZURE_STORAGE_SAS_TOKEN": "sig=" + canary}, ""},
		{"Azure, identity", "azblob://container?storage_account=acct", nil, ""},
		{"Azure without account", "azblob://container", nil, "add ?storage_account="},
		{"Azure, a bad key", "azblob://container", map[string]string{"AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_KEY": canary}, "credentials cannot be used"},
		{"Azure, a bad account", "azblob://container?storage_account=a.b", nil, "a.b"},
		{"Azure, a domain of others", "azblob://container?storage_account=a&domain=example.com", nil, "not allowed"},
		{"other scheme", "ftp://key:" + canary + "@bucket", nil, `the scheme "ftp" are not known; supported are file:///an/absolute/path, s3://bucket`},
		{"no URL", "file://%zz" + canary, nil, "cannot be parsed"},
		{"no query", "s3://bucket?%zz" + canary, region, "not understood"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := NewWithT(t)
			for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_KEY"} {
				t.Setenv(name, "")
			}
			t.Setenv("AWS_CONFIG_FILE", os.DevNull)
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			s, err := Open(t.Context(), test.url, store.Options{})
			if test.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(s.Close()).To(Succeed())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(err.Error()).NotTo(ContainSubstring(canary))
		})
	}
}

func TestConformanceOfADirectory(t *testing.T) {
	storetest.Conform(t, func(t *testing.T) storetest.Opener {
		dir := filepath.Join(t.TempDir(), "made", "by", "open")
		return func(t *testing.T, o store.Options) *store.Store { return opened(t, "file://"+filepath.ToSlash(dir), o) }
	})
}

func opened(t *testing.T, url string, o store.Options) *store.Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// A reader makes no directory, and a volume that is not there is not a store without renders.
func TestADirectoryThatIsNotThere(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "renders")
	_, err := Open(t.Context(), "file://"+dir, store.Options{ReadOnly: true})
	g.Expect(err).To(MatchError(ContainSubstring("opening the render store file://" + dir)))

	s := opened(t, "file://"+dir, store.Options{})
	info, err := os.Stat(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o700)))
	g.Expect(os.Remove(dir)).To(Succeed())
	_, err = s.Get(t.Context(), "team", "web", storetest.Record(t).Result.Digest)
	g.Expect(err).To(MatchError(store.ErrUnavailable))
	g.Expect(err).NotTo(MatchError(store.ErrNotFound))
	g.Expect(err.Error()).To(ContainSubstring("NoSuchDirectory"))
}

// serve answers each request alike.
func serve(t *testing.T, answer http.HandlerFunc) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	web := &http.Server{ReadHeaderTimeout: time.Minute, Handler: answer, BaseContext: func(net.Listener) context.Context { return t.Context() }}
	done := make(chan struct{})
	go func() { defer close(done); _ = web.Serve(listener) }()
	t.Cleanup(func() { _ = web.Close(); <-done })
	return listener.Addr().String()
}
