// SPDX-License-Identifier: Apache-2.0

// Package provenance checks the archives of Helm charts against their provenance files:
// cleartext messages, signed with OpenPGP, that name the digest of the archive. See
// https://helm.sh/docs/topics/provenance.
package provenance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"go.yaml.in/yaml/v3"

	sourcev1alpha1 "kumodo.io/convoy/api/source/v1alpha1"
	"kumodo.io/convoy/fetch/internal/backend"
	"kumodo.io/convoy/fetch/internal/fault"
	"kumodo.io/convoy/fetch/internal/git/signing"
	"kumodo.io/convoy/fetch/internal/versions"
)

// MaxBytes bounds a provenance file, which holds a copy of Chart.yaml.
const MaxBytes = 2 << 20

// LayerMediaType is the media type of the layer that holds a provenance file in a registry.
const LayerMediaType = "application/vnd.cncf.helm.chart.provenance.v1.prov"

const signatureBlock = "PGP SIGNATURE"

// Verifier checks provenance files against the keys that it trusts.
type Verifier struct {
	keys signing.Verifier
	now  func() time.Time
}

// New returns the Verifier of a HelmRegistry, nil when it demands nothing. secret is the
// namespace/name of the Secret with the keys, trusted its content; now tells the time at
// which keys have to be good. The errors are fault.ErrInvalid and fault.ErrSecret.
func New(spec *sourcev1alpha1.HelmVerification, secret string, trusted map[string][]byte, now func() time.Time) (*Verifier, error) {
	if spec == nil {
		return nil, nil
	}
	if spec.Provider != signing.OpenPGP {
		return nil, fault.New(fault.ErrInvalid, "spec.verify.provider %q is not %s, the only one for charts", spec.Provider, signing.OpenPGP)
	}
	keys, err := signing.NewVerifier(spec.Provider, secret, trusted)
	if err != nil {
		return nil, err
	}
	return &Verifier{keys: keys, now: now}, nil
}

// Chart is what a provenance file has to vouch for.
type Chart struct {
	// Name and Version as the chart is published. A Version that is none of Semantic Versioning,
	// such as latest, is not compared.
	Name, Version string
	// File is the name of the archive where it is published, if it has one there.
	File string
	// Digest of the archive: SHA-256, in lower-case hex.
	Digest string
}

// Verify checks that a provenance file is signed and vouches for an archive, under its name as
// helm verify does. It returns a name of the key, for logs. what names the chart. The error is
// fault.ErrVerification: a provenance file can be made anew at any time; or that of ctx.
func (v *Verifier) Verify(ctx context.Context, what string, file []byte, chart Chart) (key string, err error) {
	message, err := parse(file)
	if err != nil {
		return "", fault.New(fault.ErrVerification, "the provenance file of %s cannot be read: %s", what, err)
	}
	key, err = v.keys.Verify(ctx, "the provenance file of "+what, message.signed, v.now())
	if err != nil && !errors.Is(err, fault.ErrVerification) {
		return "", err
	}
	if err != nil {
		return "", fault.New(fault.ErrVerification, "%s", err)
	}
	named := false
	for name, digest := range message.archives {
		if !chart.called(name) {
			continue
		}
		if named = true; digest == "sha256:"+chart.Digest {
			return key, nil
		}
	}
	if !named {
		return "", fault.New(fault.ErrVerification, "the provenance file of %s is signed, but for another chart: it names %s, and not %s", what, message.listed(), chart.archive())
	}
	return "", fault.New(fault.ErrVerification, "the provenance file of %s is signed, but for another archive than that with the digest sha256:%s", what, chart.Digest)
}

// called says whether a file can be the chart's archive by its name: that under which it is
// published, or that which helm package gives it. Registries know names in lower case only, and
// write versions in their own way.
func (c Chart) called(file string) bool {
	if file == c.File && file != "" {
		return true
	}
	rest, packaged := strings.CutSuffix(file, archiveSuffix)
	if !packaged || len(rest) <= len(c.Name) || !strings.EqualFold(rest[:len(c.Name)], c.Name) || rest[len(c.Name)] != '-' {
		return false
	}
	version := versions.Parse(rest[len(c.Name)+1:])
	return version != nil && (versions.Parse(c.Version) == nil || versions.Same(version.Original(), c.Version))
}

// archive is what the archive should be called, for messages.
func (c Chart) archive() string {
	if versions.Parse(c.Version) == nil {
		return "a version of " + c.Name
	}
	return c.Name + "-" + c.Version + archiveSuffix
}

// archiveSuffix is how helm package lets the names of archives end.
const archiveSuffix = ".tgz"

// Missing is the error for a chart without provenance file. where names the place at which
// it should be.
func Missing(what, where string) error {
	return fault.New(fault.ErrVerification, "%s is not signed, and spec.verify demands it: there is no provenance file %s; make one with helm package --sign, or helm push it with the chart", what, where)
}

// message is a provenance file, taken apart.
type message struct {
	signed signing.Signed
	// archives are the digests that it names, as sha256:<hex digits>, by the names of files.
	archives map[string]string
}

// listed names the archives for a message.
func (m *message) listed() string {
	const most = 3
	names := slices.Sorted(maps.Keys(m.archives))
	text := (*fault.Scrubber)(nil).Clean(strings.Join(names[:min(most, len(names))], ", "))
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

// parse reads a provenance file without trusting anything of it.
func parse(file []byte) (*message, error) {
	if len(file) > MaxBytes {
		return nil, fmt.Errorf("it has %s; %s are accepted", fault.Size(int64(len(file))), fault.Size(MaxBytes))
	}
	block, rest := decode(file)
	if block == nil {
		return nil, fmt.Errorf("it is no signed message of OpenPGP")
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return nil, fmt.Errorf("something follows its signature")
	}
	signature, err := rearmored(block.ArmoredSignature.Body)
	if err != nil {
		return nil, fmt.Errorf("its signature is damaged")
	}
	archives, err := sums(block.Plaintext)
	return &message{signed: signing.Signed{Payload: block.Bytes, Signature: signature}, archives: archives}, err
}

// decode finds the signed message, nil when there is none. The library panics over messages
// of no line.
func decode(file []byte) (block *clearsign.Block, rest []byte) {
	defer func() {
		if recover() != nil {
			block = nil
		}
	}()
	return clearsign.Decode(file)
}

// rearmored gives a signature that stands alone.
func rearmored(body io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	w, err := armor.Encode(&text, signatureBlock, nil)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(raw); err == nil {
		err = w.Close()
	}
	return text.Bytes(), err
}

// sums finds the digests of archives in what is signed: the second of its two documents in
// YAML, after Chart.yaml.
func sums(plain []byte) (map[string]string, error) {
	_, second, found := bytes.Cut(plain, []byte("\n...\n"))
	if !found {
		return nil, fmt.Errorf("it names no archives")
	}
	var document struct {
		Files map[string]yaml.Node `yaml:"files"`
	}
	if yaml.Unmarshal(second, &document) != nil {
		return nil, fmt.Errorf("what it says of archives is not written in YAML")
	}
	archives := map[string]string{}
	for name, node := range document.Files {
		digest, ok := bytes.CutPrefix([]byte(node.Value), []byte("sha256:"))
		if ok && backend.IsHex(string(digest), 64) {
			archives[name] = "sha256:" + string(bytes.ToLower(digest))
		}
	}
	if len(archives) == 0 {
		return nil, fmt.Errorf("it names no archive with a digest of SHA-256")
	}
	return archives, nil
}
