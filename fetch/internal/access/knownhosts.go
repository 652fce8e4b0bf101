// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"kumodo.io/convoy/fetch/internal/fault"
)

// knownHosts is a known_hosts file, as sshd(8) describes it under SSH_KNOWN_HOSTS FILE
// FORMAT. Lines of certificate authorities are passed over.
type knownHosts struct {
	lines []knownLine
	// malformed are the numbers of lines that cannot be read. They do not hide good ones.
	malformed []int
}

type knownLine struct {
	hosts   []string
	key     ssh.PublicKey
	revoked bool
}

const (
	revoked   = "revoked"
	authority = "cert-authority"
)

// markers may stand before a line. One that is misspelt must not make a line say nothing.
var markers = []string{"", revoked, authority}

func parseKnownHosts(data []byte) knownHosts {
	var known knownHosts
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		marker, hosts, key, _, _, err := ssh.ParseKnownHosts(line)
		switch {
		case err != nil, !slices.Contains(markers, marker):
			known.malformed = append(known.malformed, number)
		case marker != authority:
			known.lines = append(known.lines, knownLine{hosts: hosts, key: key, revoked: marker == revoked})
		}
	}
	return known
}

// hostKeys is what is known of one host.
type hostKeys struct {
	// secret is the namespace/name of the Secret that knows.
	secret, address string
	keys, revoked   []ssh.PublicKey
	malformed       []int
}

func (k knownHosts) forHost(address string) hostKeys {
	host := displayAddress(address)
	known := hostKeys{address: host, malformed: k.malformed}
	for _, line := range k.lines {
		switch {
		case !matchHosts(line.hosts, host):
		case line.revoked:
			known.revoked = append(known.revoked, line.key)
		default:
			known.keys = append(known.keys, line.key)
		}
	}
	return known
}

// matchHosts says whether the patterns of a line fit host, which is written [host]:port
// when the port is not 22. A negated pattern that fits decides against the line.
func matchHosts(patterns []string, host string) bool {
	host = strings.ToLower(host)
	fits := false
	for _, pattern := range patterns {
		negated := strings.HasPrefix(pattern, "!")
		if !matchHost(strings.TrimPrefix(pattern, "!"), host) {
			continue
		}
		if negated {
			return false
		}
		fits = true
	}
	return fits
}

func matchHost(pattern, host string) bool {
	if strings.HasPrefix(pattern, "|1|") {
		parts := strings.Split(pattern, "|")
		if len(parts) != 4 {
			return false
		}
		salt, err1 := base64.StdEncoding.DecodeString(parts[2])
		hash, err2 := base64.StdEncoding.DecodeString(parts[3])
		mac := hmac.New(sha1.New, salt)
		mac.Write([]byte(host))
		return err1 == nil && err2 == nil && hmac.Equal(mac.Sum(nil), hash)
	}
	if h, port, err := net.SplitHostPort(pattern); err == nil && port == "22" {
		pattern = h
	}
	// Brackets belong to the notation; only * and ? are special in a pattern.
	escape := strings.NewReplacer("[", `\[`, "]", `\]`, `\`, `\\`)
	fits, err := path.Match(escape.Replace(strings.ToLower(pattern)), host)
	return err == nil && fits
}

// algorithms returns the signature algorithms with which the known keys can be proven.
func (h hostKeys) algorithms() []string {
	var list []string
	for _, key := range h.keys {
		if key.Type() == ssh.KeyAlgoRSA {
			list = append(list, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			list = append(list, key.Type())
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// check is an ssh.HostKeyCallback.
func (h hostKeys) check(_ string, _ net.Addr, presented ssh.PublicKey) error {
	same := func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), presented.Marshal()) }
	fingerprint := ssh.FingerprintSHA256(presented)
	if slices.ContainsFunc(h.revoked, same) {
		return fault.New(fault.ErrUnauthorized, "the host key of %s (%s %s) is marked as revoked in the key known_hosts of the Secret %s", h.address, presented.Type(), fingerprint, h.secret)
	}
	if slices.ContainsFunc(h.keys, same) {
		return nil
	}
	types := make([]string, 0, len(h.keys))
	for _, key := range h.keys {
		types = append(types, key.Type()+" "+ssh.FingerprintSHA256(key))
	}
	slices.Sort(types)
	return fault.New(fault.ErrUnauthorized, "the host key of %s is %s %s, which the key known_hosts of the Secret %s does not hold; it holds %s%s",
		h.address, presented.Type(), fingerprint, h.secret, strings.Join(types, ", "), h.complaint())
}

func (h hostKeys) complaint() string {
	if len(h.malformed) == 0 {
		return ""
	}
	return fmt.Sprintf(" (malformed lines: %s)", strings.Trim(fmt.Sprint(h.malformed), "[]"))
}
