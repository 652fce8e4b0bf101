// SPDX-License-Identifier: Apache-2.0

package httpserver

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// authFile lies in a served folder and holds "user:password" of everything in
// and below it. It is a file so that any server of the folder, also one in
// another process, asks for the same credentials.
const authFile = ".auth"

// Protect makes every FolderAuth server of the folder ask for the credentials,
// from the next request on. The user name must not hold a colon.
func Protect(dir, user, password string) error {
	if user == "" || strings.Contains(user, ":") {
		return errors.New("a user name is not empty and has no colon")
	}
	if err := os.WriteFile(filepath.Join(dir, authFile), []byte(user+":"+password), 0o600); err != nil {
		return fmt.Errorf("protect the folder: %w", err)
	}
	return nil
}

// Unprotect takes the credentials off again. A folder without any is no error.
func Unprotect(dir string) error {
	if err := os.Remove(filepath.Join(dir, authFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unprotect the folder: %w", err)
	}
	return nil
}

// FolderAuth asks for the credentials with which the folder that a request's
// path names, or the nearest one above it up to root, is protected.
func FolderAuth(root string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, protected := credentials(root, r.URL.Path)
		user, password, _ := r.BasicAuth()
		if protected && subtle.ConstantTimeCompare([]byte(user+":"+password), []byte(want)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="convoy test environment"`)
			http.Error(w, "authentication required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func credentials(root, urlPath string) (want string, protected bool) {
	for p := path.Clean("/" + urlPath); ; p = path.Dir(p) {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p), authFile))
		if err == nil {
			return string(content), true
		}
		if p == "/" {
			return "", false
		}
	}
}
