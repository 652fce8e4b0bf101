// SPDX-License-Identifier: Apache-2.0

// Package keybound refuses keys that cost too much to use. Who writes a Secret, or a signature,
// chooses the keys in it, and arithmetic with large ones ends at no time limit: the libraries
// do not know contexts, and some bound nothing. So all of it is looked at before it is read: no
// arithmetic is done here, and nothing of a key is held.
package keybound

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/bits"
	"strings"
)

const (
	// MaxBits is the longest RSA key that is used, as in TLS.
	MaxBits = 8192
	// MaxIdentityBits is the same for keys with which to log in: ssh-keygen makes none longer.
	MaxIdentityBits = 16384
	// MaxKeys bounds the keys, or certificates, whose signatures are trusted: each is tried.
	MaxKeys = 50

	// maxBlocks bounds what stands in PEM form in one entry: what systems trust are some
	// hundred authorities.
	maxBlocks = 1000
	// maxRounds is how often bcrypt is repeated at most to open an encrypted key.
	maxRounds = 100
	// maxEncrypted bounds an encrypted key in bytes, which shows its length to who opens it only.
	maxEncrypted = 10 << 10
	// maxNested is how deep texts are taken apart that hold others.
	maxNested = 6
)

// Check looks at everything in PEM form, and at all keys in DER, whatever holds them: PEM, JSON
// with Base64, or some other form that leaves their bytes as they are. most is how many bits an
// RSA or DSA key may have. The error is a Refusal.
func Check(data []byte, most int) error { return check(data, most, maxNested) }

// Bits refuses a key that has more than most bits. The error is a Refusal.
func Bits(bits, most int) error {
	if bits <= most {
		return nil
	}
	return refuse("it holds an RSA key, or one like it, of %d bits, and %d are the most that are accepted; use a shorter key", bits, most)
}

// Few refuses entries of a Secret that hold more than MaxKeys keys or certificates in PEM form
// together. The error is a Refusal.
func Few(data map[string][]byte, names []string) error {
	blocks := 0
	for _, name := range names {
		for rest := data[name]; ; blocks++ {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			if blocks == MaxKeys {
				return refuse("there are more than the %d keys or certificates that may be trusted; leave out what signs nothing", MaxKeys)
			}
		}
	}
	return nil
}

// Refusal says what is wrong with a key, for people.
type Refusal string

// Error returns the text.
func (r Refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

func check(data []byte, most, nested int) error {
	if err := checkDER(data, most); err != nil {
		return err
	}
	blocks := 0
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if blocks++; blocks > maxBlocks {
			return refuse("it holds more than %d keys or certificates; leave out what is not needed", maxBlocks)
		}
		if err := checkBlock(block, most); err != nil {
			return err
		}
	}
	if first := bytes.TrimLeft(data, " \t\r\n"); nested > 0 && len(first) > 0 && (first[0] == '{' || first[0] == '[') {
		return checkJSON(first, most, nested-1)
	}
	return nil
}

// checkJSON looks into the strings: at what they hold in Base64, and at PEM.
func checkJSON(data []byte, most, nested int) error {
	for decoder := json.NewDecoder(bytes.NewReader(data)); ; {
		token, err := decoder.Token()
		if err != nil {
			// The end, or what nobody else can read either.
			return nil
		}
		text, _ := token.(string)
		inner := []byte(text)
		if !strings.Contains(text, "-----BEGIN") {
			// Libraries take either alphabet, with padding and without.
			text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=\r\n")
			if inner, err = base64.RawStdEncoding.DecodeString(text); err != nil {
				continue
			}
		}
		if err := check(inner, most, nested); err != nil {
			return err
		}
	}
}

func checkBlock(block *pem.Block, most int) error {
	switch {
	case block.Type == "OPENSSH PRIVATE KEY":
		return checkOpenSSH(block.Bytes)
	case (block.Headers["DEK-Info"] != "" || strings.Contains(block.Type, "ENCRYPTED")) && len(block.Bytes) > maxEncrypted:
		return refuse("it holds an encrypted key of %d bytes, and %d are the most that are accepted; use a shorter key", len(block.Bytes), maxEncrypted)
	}
	return checkDER(block.Bytes, most)
}

// checkOpenSSH looks at how an encrypted key is opened, see PROTOCOL.key of OpenSSH. How long
// the key is, the library bounds itself.
func checkOpenSSH(data []byte) error {
	rest, _ := bytes.CutPrefix(data, []byte("openssh-key-v1\x00"))
	_, rest = cutString(rest) // the cipher
	kdf, rest := cutString(rest)
	options, _ := cutString(rest)
	_, options = cutString(options) // the salt
	if string(kdf) != "bcrypt" || len(options) < 4 {
		return nil
	}
	if rounds := binary.BigEndian.Uint32(options); rounds > maxRounds {
		return refuse("it is encrypted with %d rounds of bcrypt, and %d are the most that are accepted; encrypt it anew, with ssh-keygen -p -a 16", rounds, maxRounds)
	}
	return nil
}

// cutString takes off a string of SSH, see RFC 4251, section 5.
func cutString(data []byte) (text, rest []byte) {
	if len(data) < 4 {
		return nil, nil
	}
	n := binary.BigEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return nil, nil
	}
	return data[4 : 4+n], data[4+n:]
}

// The tags of DER that matter here.
const (
	tagInteger  = 0x02
	tagSequence = 0x30
)

// checkDER looks for sequences that begin with a large integer, or with a version and a large
// integer, and go on with another one: so do RSA keys (RFC 8017, appendix A.1) and the parameters
// of DSA. It does not matter what is around them: certificates, bundles of them, envelopes.
func checkDER(data []byte, most int) error {
	for {
		at := bytes.IndexByte(data, tagSequence)
		if at < 0 {
			return nil
		}
		data = data[at+1:]
		within, _, ok := cutLength(data)
		if !ok {
			continue
		}
		if len(within) > 3 && within[0] == tagInteger && within[1] == 1 {
			within = within[3:]
		}
		if err := Bits(leadingInteger(within), most); err != nil {
			return err
		}
	}
}

// leadingInteger returns how many bits the integer has that data begins with, 0 if there is none
// or no other follows.
func leadingInteger(data []byte) int {
	if len(data) == 0 || data[0] != tagInteger {
		return 0
	}
	number, rest, ok := cutLength(data[1:])
	if !ok || len(rest) == 0 || rest[0] != tagInteger {
		return 0
	}
	number = bytes.TrimLeft(number, "\x00")
	if len(number) == 0 {
		return 0
	}
	return 8*(len(number)-1) + bits.Len8(number[0])
}

// cutLength reads a length, in any form of BER, and returns what it is of, and what follows.
func cutLength(data []byte) (content, rest []byte, ok bool) {
	if len(data) == 0 {
		return nil, nil, false
	}
	first := data[0]
	rest = data[1:]
	if first == 0x80 {
		// It ends somewhere.
		return rest, nil, true
	}
	n := uint64(first)
	if first > 0x80 {
		size := int(first & 0x7f)
		if size > len(rest) || size > 8 {
			return nil, nil, false
		}
		n = 0
		for _, b := range rest[:size] {
			n = n<<8 | uint64(b)
		}
		rest = rest[size:]
	}
	if n > uint64(len(rest)) {
		return nil, nil, false
	}
	return rest[:n], rest[n:], true
}
