// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"path"
	"strings"
)

// Folder gives the path of a folder of a source as convoy takes it; "" is the root.
func Folder(name string) string { return path.Join("/", name)[1:] }

// Relative gives the path of a file of a source as seen from a folder of it. Both are relative
// to the root.
func Relative(folder, file string) string {
	from, to := strings.Split(Folder(folder), "/"), strings.Split(Folder(file), "/")
	if from[0] == "" {
		from = nil
	}
	for len(from) > 0 && len(to) > 1 && from[0] == to[0] {
		from, to = from[1:], to[1:]
	}
	return strings.Repeat("../", len(from)) + strings.Join(to, "/")
}
