# SPDX-License-Identifier: BSL-1.0
# Completion of the command extmem for bash.

_extmem()
{
	local cur prev words cword opts
	_init_completion -s || return

	if [[ $cword -eq 1 ]]; then
		COMPREPLY=($(compgen -W 'sort generate check --help --version' -- "$cur"))
		return
	fi

	case $prev in
	-o | --output)
		_filedir
		return
		;;
	-T | --temporary-directory)
		_filedir -d
		return
		;;
	--direct)
		COMPREPLY=($(compgen -W 'off try on' -- "$cur"))
		return
		;;
	--stats)
		# Its argument is optional, so it comes behind an equals sign or not at all.
		if [[ $split == true ]]; then
			COMPREPLY=($(compgen -W 'json' -- "$cur"))
			return
		fi
		;;
	--backend)
		COMPREPLY=($(compgen -W 'syscall libaio memory' -- "$cur"))
		return
		;;
	--isa)
		COMPREPLY=($(compgen -W 'scalar avx2 avx512' -- "$cur"))
		return
		;;
	-k | --key)
		# Words are cut at colons, so what is completed is the part behind the last.
		COMPREPLY=($(compgen -W 'u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 bytes r' -- "${cur##*:}"))
		[[ $cur == *:* || $cur == '' ]] || COMPREPLY=()
		return
		;;
	-S | --buffer-size | --record-size | --records | --seed | --parallel | --batch-size | --run-size | --block-size)
		return
		;;
	esac

	case ${words[1]} in
	sort)
		opts='--record-size= --key= --reverse --stable --unique --output= --buffer-size= --temporary-directory=
			--parallel= --batch-size= --run-size= --block-size= --direct= --backend= --isa= --plan --stats
			--progress --no-progress --verbose --help --version'
		;;
	generate)
		opts='--records= --record-size= --gensort --seed= --output= --progress --no-progress --help --version'
		;;
	check)
		opts='--record-size= --key= --reverse --unique --unsorted --progress --no-progress --help --version'
		;;
	*)
		return
		;;
	esac

	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$opts" -- "$cur"))
		[[ ${COMPREPLY-} == *= ]] && compopt -o nospace
	elif [[ ${words[1]} != generate ]]; then
		_filedir
	fi
} && complete -F _extmem extmem
