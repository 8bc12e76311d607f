package connect

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"strings"
)

// scramServer is the server side of RFC 5802, written apart from the client
// under test.
type scramServer struct {
	hash       func() hash.Hash
	user       string
	password   string
	iterations int
	nonce      string // the server's part
	salt       []byte
	wrongProof bool // sign as a server that does not know the password

	clientFirst, serverFirst string
}

var scramHashes = map[string]func() hash.Hash{MechanismScramSHA256: sha256.New, MechanismScramSHA512: sha512.New}

func (s *scramServer) step(in []byte) ([]byte, int16) {
	if s.serverFirst == "" {
		return s.first(string(in))
	}
	return s.final(string(in))
}

func (s *scramServer) first(in string) ([]byte, int16) {
	bare, ok := strings.CutPrefix(in, "n,,")
	name, nonce, ok2 := strings.Cut(strings.TrimPrefix(bare, "n="), ",r=")
	name = strings.NewReplacer("=2C", ",", "=3D", "=").Replace(name)
	if !ok || !ok2 || name != s.user {
		return nil, codeAuthFailed
	}
	s.clientFirst = bare
	s.serverFirst = fmt.Sprintf("r=%s%s,s=%s,i=%d", nonce, s.nonce, base64.StdEncoding.EncodeToString(s.salt), s.iterations)
	return []byte(s.serverFirst), 0
}

func (s *scramServer) final(in string) ([]byte, int16) {
	withoutProof, proof64, _ := strings.Cut(in, ",p=")
	message := s.clientFirst + "," + s.serverFirst + "," + withoutProof
	salted, err := pbkdf2.Key(s.hash, s.password, s.salt, s.iterations, s.hash().Size())
	if err != nil {
		panic(err)
	}
	proof, _ := base64.StdEncoding.DecodeString(proof64)
	clientKey := s.mac(salted, "Client Key")
	stored := s.hash()
	stored.Write(clientKey)
	signature := s.mac(stored.Sum(nil), message)
	for i := range signature {
		signature[i] ^= clientKey[i]
	}
	if !s.wrongProof && !hmac.Equal(signature, proof) {
		return nil, codeAuthFailed
	}
	final := s.mac(s.mac(salted, "Server Key"), message)
	return []byte("v=" + base64.StdEncoding.EncodeToString(final)), 0
}

func (s *scramServer) mac(key []byte, message string) []byte {
	m := hmac.New(s.hash, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}
