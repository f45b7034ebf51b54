#!/usr/bin/env bash
# The Debian package on a clean Debian 12: it installs with what it depends on, answers, completes in zsh and fish, has its
# manual page, finds the pretend card, and leaves nothing behind. VRAMPLAN_TEST_DEBIAN names the root of such a system, as
#
#   debootstrap --variant=minbase bookworm FOLDER
#
# makes it; what is installed there stays installed, but for vramplan. Exit code 77, with the reason as the last line, where
# there is none, or this user may not enter it.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
root=${VRAMPLAN_TEST_DEBIAN-}
[[ -n $root ]] || { echo "VRAMPLAN_TEST_DEBIAN names no Debian root"; exit 77; }
((EUID == 0)) || { echo "only root can enter another root"; exit 77; }
command -v cpack >/dev/null && command -v dpkg-shlibdeps >/dev/null || { echo "cpack or dpkg-shlibdeps is not installed"; exit 77; }
rm -f build/release/vramplan_*.deb
(cd build/release && cpack -G DEB) >build/package.log 2>&1 || { tail -n 20 build/package.log; exit 1; }
cp build/release/vramplan_*.deb models/unet.onnx "$root/tmp/" || exit 1
cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null

# Inside: its own processes, and the /proc of those.
inside() { unshare --mount --pid --fork chroot "$root" bash -c "mount -t proc proc /proc; export DEBIAN_FRONTEND=noninteractive; cd /tmp; $1"; }
inside 'apt-get update -qq && apt-get install -y -qq --no-install-recommends ./vramplan_*.deb zsh fish man-db python3-minimal' \
  >build/package.log 2>&1 || { tail -n 20 build/package.log; exit 1; }

wrong=0
expect() { # WHAT PATTERN COMMAND
  local said
  said=$(inside "$3" 2>&1)
  # shellcheck disable=SC2053  # a pattern is meant
  [[ $said == $2 ]] && return
  printf '%s: %s\n' "$1" "$said"
  ((wrong += 1))
}
expect 'the version' 'vramplan [0-9]*' 'vramplan --version'
expect 'an answer' 'unet.onnx trains on Tesla T4*' 'vramplan fit unet.onnx --gpu t4 2>/dev/null'
expect 'the pretend card' '*imported no torch*' 'vramplan run -- python3 -c "print(1)"'
expect 'libraries' '' 'ldd /usr/bin/vramplan | grep "not found"'
expect 'completion in fish' 'estimate*' 'fish -c "complete -C \"vramplan est\""'
expect 'completion in zsh' '_vramplan' 'zsh -f -c "autoload -Uz compinit; compinit -u -D; print \$_comps[vramplan]"'
expect 'the manual page' '*how much GPU memory a PyTorch step takes*' 'MANWIDTH=100 man vramplan'
expect 'files as they were packed' '' 'dpkg --verify vramplan'
expect 'nothing is left' '' 'apt-get purge -y -qq vramplan >/dev/null 2>&1; find / -xdev -name "*vramplan*" -not -path "/tmp/*" -not -path "/proc/*" -not -path "/var/cache/man/*"'
((wrong == 0)) && echo "installed, asked and removed"
exit $((wrong > 0))
